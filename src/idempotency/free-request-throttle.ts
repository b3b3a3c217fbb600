/**
 * Throttles requests with an `Idempotency-Key` that use no quota. These are retries of earlier requests, and requests
 * that were refused or not carried out after their claim. Plans do not limit these requests, but each one queries the
 * store. Each process counts by API key.
 */
import { LRUCache } from 'lru-cache';
import { MINUTE_SECONDS, SlidingWindow } from '../platform/sliding-window.js';
import { THROTTLES } from '../quota/model/throttle-rows.js';
import type { Clock } from '../platform/clock.js';

const { limit: LIMIT, windowMs: WINDOW_MS, mostKeys: MAX_KEYS } = THROTTLES.freeRequests;
const BUCKET_MS = WINDOW_MS / MINUTE_SECONDS;

/** FreeRequestThrottle counts the requests of each API key that used no quota, in a sliding window of one minute. */
export class FreeRequestThrottle {
  private readonly windows = new LRUCache<string, SlidingWindow>({ max: MAX_KEYS });

  constructor(private readonly clock: Clock) {}

  /** Counts a request of an API key that used no quota. */
  add(apiKeyId: string): void {
    let window = this.windows.get(apiKeyId);
    if (window === undefined) this.windows.set(apiKeyId, (window = new SlidingWindow()));
    window.slideTo(this.bucket());
    window.add(1);
  }

  /**
   * Returns the time in ms until the API key may send another request with an `Idempotency-Key`; 0 if it may send one
   * now.
   */
  waitMs(apiKeyId: string): number {
    const window = this.windows.get(apiKeyId);
    if (window === undefined) return 0;
    window.slideTo(this.bucket());
    const { sum } = window;
    if (sum < LIMIT) return 0;
    const freeAtMs = window.freedAt(sum + 1 - LIMIT) * BUCKET_MS;
    return Math.min(WINDOW_MS, Math.max(1, freeAtMs - this.clock.now()));
  }

  private bucket(): number {
    return Math.floor(this.clock.now() / BUCKET_MS);
  }
}
