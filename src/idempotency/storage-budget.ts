/**
 * Limits how many bytes of responses an account can store per hour. Responses are kept for a day by default, so large
 * responses of one account could fill the store that all accounts share. Each process counts separately.
 */
import { LRUCache } from 'lru-cache';
import { MINUTE_SECONDS, SlidingWindow } from '../platform/sliding-window.js';
import type { Clock } from '../platform/clock.js';

/**
 * Maximum number of stored bytes per account and hour. The gateway still sends further responses, but does not store
 * them.
 */
export const MAX_STORED_BYTES = 64 * 1_024 * 1_024;
/** Maximum number of accounts with a count. The count of the least recently used account is dropped first. */
const MAX_ACCOUNTS = 10_000;
const BUCKET_MS = 3_600_000 / MINUTE_SECONDS;

/** StorageBudget decides whether a response to a request of an account may be stored. */
export class StorageBudget {
  private readonly windows = new LRUCache<string, SlidingWindow>({ max: MAX_ACCOUNTS });

  constructor(private readonly clock: Clock) {}

  /**
   * Counts the bytes of a response if the budget of the account allows them. Otherwise counts nothing and returns
   * false.
   */
  spendBytes(accountId: string, bytes: number): boolean {
    let window = this.windows.get(accountId);
    if (window === undefined) this.windows.set(accountId, (window = new SlidingWindow()));
    window.slideTo(Math.floor(this.clock.now() / BUCKET_MS));
    if (window.sum + bytes > MAX_STORED_BYTES) return false;
    window.add(bytes);
    return true;
  }
}
