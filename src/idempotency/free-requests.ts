/**
 * The throttle of requests with an `Idempotency-Key` that cost nothing: repetitions, and what is refused behind its
 * claim. No plan limits them, and each asks the store. Counted in this process, by key.
 */
import { LRUCache } from 'lru-cache';
import { MINUTE_SECONDS, SlidingWindow } from '../platform/sliding-window.js';
import { THROTTLES } from '../quota/model/throttle-rows.js';
import type { Clock } from '../platform/clock.js';

const { limit: LIMIT, windowMs: WINDOW_MS, mostKeys: MOST_KEYS } = THROTTLES.freeRequests;
const BUCKET_MS = WINDOW_MS / MINUTE_SECONDS;

/** FreeRequests counts them. */
export class FreeRequests {
  private readonly windows = new LRUCache<string, SlidingWindow>({ max: MOST_KEYS });

  constructor(private readonly clock: Clock) {}

  /** Counts one of a key. */
  note(apiKeyId: string): void {
    let window = this.windows.get(apiKeyId);
    if (window === undefined) this.windows.set(apiKeyId, (window = new SlidingWindow()));
    window.slideTo(this.bucket());
    window.add(1);
  }

  /** How long until the key may send one, ms; 0: it may now. */
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
