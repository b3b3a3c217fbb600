/**
 * The throttle of requests with an `Idempotency-Key` that cost nothing: repetitions, and what is refused behind its
 * claim. No plan limits them, and each asks the store. Counted in this process, by key.
 */
import { LRUCache } from 'lru-cache';
import { MINUTE_SECONDS } from '../limits/model/policies.js';
import { SlidingWindow } from '../limits/process/sliding-window.js';
import type { Clock } from '../platform/clock.js';

/** Of one key in any minute. */
export const MOST_FREE_PER_MINUTE = 600;
/** Keys that are counted at once; the one that was quiet longest is forgotten first. */
const MOST_KEYS = 10_000;
const BUCKET_MS = 60_000 / MINUTE_SECONDS;

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
    if (sum < MOST_FREE_PER_MINUTE) return 0;
    const freeAtMs = window.freedAt(sum + 1 - MOST_FREE_PER_MINUTE) * BUCKET_MS;
    return Math.min(60_000, Math.max(1, freeAtMs - this.clock.now()));
  }

  private bucket(): number {
    return Math.floor(this.clock.now() / BUCKET_MS);
  }
}
