/**
 * Applies one throttle of `THROTTLES`, for code that limits requests that plans do not limit. Hits are counted in this
 * process or in Redis.
 */
import type { ThrottleRow } from './model/throttle-rows.js';
import type { ThrottleVerdict, ThrottleWindows } from './throttle-windows.js';

/** Throttle counts and refunds the hits of one row of `THROTTLES`. */
export class Throttle {
  constructor(
    private readonly windows: Pick<ThrottleWindows, 'increment' | 'refund' | 'clearWindow'>,
    readonly row: ThrottleRow,
  ) {}

  /**
   * Counts a hit if it fits under the limit.
   * @param key owner of the hit, such as a key ID or an address.
   * @param limit overrides the row's limit.
   */
  countHit(key: string, limit: number = this.row.limit): Promise<ThrottleVerdict> {
    return this.windows.increment(this.row, key, limit);
  }

  /** Refunds an admitted hit. Never rejects. */
  refund(key: string, { bucket }: ThrottleVerdict): Promise<void> {
    return this.windows.refund(this.row, key, bucket);
  }

  /** Removes all hits of a key. Never rejects. */
  clearHits(key: string): Promise<void> {
    return this.windows.clearWindow(this.row, key);
  }
}

/** Returns the seconds of `Retry-After` for a refused hit, at least 1. */
export function retryAfterOf({ resetMs }: Pick<ThrottleVerdict, 'resetMs'>): number {
  return Math.max(1, Math.ceil(resetMs / 1_000));
}
