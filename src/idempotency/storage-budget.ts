/**
 * How much of responses an account has stored of late. What is stored stays for a day, and the largest responses of an
 * account that may send many requests would fill a store that belongs to all. Counted in this process.
 */
import { LRUCache } from 'lru-cache';
import { MINUTE_SECONDS, SlidingWindow } from '../platform/sliding-window.js';
import type { Clock } from '../platform/clock.js';

/** Of an account within an hour: beyond, responses go out as they are, and are not stored. */
export const MOST_STORED_BYTES = 64 * 1_024 * 1_024;
/** Accounts that are counted at once; the one that was quiet longest is forgotten first. */
const MOST_ACCOUNTS = 10_000;
const BUCKET_MS = 3_600_000 / MINUTE_SECONDS;

/** StorageBudget says whose response may be stored. */
export class StorageBudget {
  private readonly windows = new LRUCache<string, SlidingWindow>({ max: MOST_ACCOUNTS });

  constructor(private readonly clock: Clock) {}

  /** Counts so many bytes of an account, where they fit. @returns whether they do. */
  takes(accountId: string, bytes: number): boolean {
    let window = this.windows.get(accountId);
    if (window === undefined) this.windows.set(accountId, (window = new SlidingWindow()));
    window.slideTo(Math.floor(this.clock.now() / BUCKET_MS));
    if (window.sum + bytes > MOST_STORED_BYTES) return false;
    window.add(bytes);
    return true;
  }
}
