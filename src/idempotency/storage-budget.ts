/**
 * Limits how many bytes of responses an account can store per hour. Stored responses stay for a day, so one account
 * with many large responses could fill the store that all accounts share. The count is per process.
 */
import { LRUCache } from 'lru-cache';
import { MINUTE_SECONDS, SlidingWindow } from '../platform/sliding-window.js';
import type { Clock } from '../platform/clock.js';

/** Maximum bytes per account and hour. Beyond it, responses are sent but not stored. */
export const MOST_STORED_BYTES = 64 * 1_024 * 1_024;
/** Maximum number of accounts with a count. The least recently used one is dropped first. */
const MOST_ACCOUNTS = 10_000;
const BUCKET_MS = 3_600_000 / MINUTE_SECONDS;

/** StorageBudget decides whether a response may be stored. */
export class StorageBudget {
  private readonly windows = new LRUCache<string, SlidingWindow>({ max: MOST_ACCOUNTS });

  constructor(private readonly clock: Clock) {}

  /** Counts the bytes if they fit in the budget of the account. Reports whether they do. */
  spend(accountId: string, bytes: number): boolean {
    let window = this.windows.get(accountId);
    if (window === undefined) this.windows.set(accountId, (window = new SlidingWindow()));
    window.slideTo(Math.floor(this.clock.now() / BUCKET_MS));
    if (window.sum + bytes > MOST_STORED_BYTES) return false;
    window.add(bytes);
    return true;
  }
}
