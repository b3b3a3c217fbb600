/** Counts the hits of throttles (`throttle-rows.ts`) in sliding windows, in this process or in Redis. */
import { LRUCache } from 'lru-cache';
import type { Clock } from '../platform/clock.js';
import type { RedisClient } from '../stores/redis/connect.js';
import { throttleKey } from '../stores/redis/keys.js';
import { Script } from '../stores/redis/script.js';
import type { ThrottleRow } from './model/throttle-rows.js';
import { THROTTLE_LUA, THROTTLE_REFUND_LUA } from './redis/scripts/throttle.js';
import { MINUTE_BUCKETS, MINUTE_SECONDS, SlidingWindow } from '../platform/sliding-window.js';

/** ThrottleVerdict says whether a hit was admitted, and when the window resets. */
export interface ThrottleVerdict {
  readonly admitted: boolean;
  /** Number of hits in the window. */
  readonly hits: number;
  /** If admitted, ms until the oldest hit leaves the window. If refused, ms until one more hit fits. */
  readonly resetMs: number;
  /** Bucket of the hit, for `refund`. */
  readonly bucket: number;
}

/** ThrottleWindows counts the hits of throttles in sliding windows of any length. */
export interface ThrottleWindows {
  /** Counts one hit if it fits under `limit` in the row's sliding window. A refused hit is not counted. */
  increment(row: ThrottleRow, key: string, limit: number): Promise<ThrottleVerdict>;
  /** Refunds an admitted hit that was counted in this bucket, if the hit is still in the window. Never rejects. */
  refund(row: ThrottleRow, key: string, bucket: number): Promise<void>;
  /** Removes all hits of the window. Never rejects. */
  clearWindow(row: ThrottleRow, key: string): Promise<void>;
}

/** ProcessThrottleWindows counts hits in this process. Each row has a table of at most `mostKeys` windows. */
export class ProcessThrottleWindows implements ThrottleWindows {
  private readonly tables = new Map<string, LRUCache<string, SlidingWindow>>();

  constructor(private readonly clock: Clock) {}

  async increment(row: ThrottleRow, key: string, limit: number): Promise<ThrottleVerdict> {
    const bucketMs = row.windowMs / MINUTE_SECONDS;
    const nowMs = this.clock.now();
    const windows = this.tableOf(row);
    let window = windows.get(key);
    if (window === undefined) windows.set(key, (window = new SlidingWindow()));
    window.slideTo(Math.floor(nowMs / bucketMs));
    if (window.sum >= limit) {
      const freedAt = window.freedAt(window.sum + 1 - limit);
      return { admitted: false, hits: window.sum, resetMs: freedAt * bucketMs - nowMs, bucket: window.current };
    }
    window.add(1);
    const resetMs = (window.oldest + MINUTE_BUCKETS) * bucketMs - nowMs;
    return { admitted: true, hits: window.sum, resetMs, bucket: window.current };
  }

  async refund(row: ThrottleRow, key: string, bucket: number): Promise<void> {
    const window = this.tableOf(row).get(key);
    window?.slideTo(Math.floor(this.clock.now() / (row.windowMs / MINUTE_SECONDS)));
    window?.refundAt(bucket, 1);
  }

  async clearWindow(row: ThrottleRow, key: string): Promise<void> {
    this.tableOf(row).delete(key);
  }

  /**
   * Returns the table of a row. Rows have separate tables, so that keys of one row never displace keys of another row.
   */
  private tableOf({ name, mostKeys }: ThrottleRow): LRUCache<string, SlidingWindow> {
    let table = this.tables.get(name);
    if (table === undefined) this.tables.set(name, (table = new LRUCache({ max: mostKeys })));
    return table;
  }
}

const THROTTLE = new Script(THROTTLE_LUA);
const REFUND = new Script(THROTTLE_REFUND_LUA);

/**
 * RedisThrottleWindows counts the hits of all nodes in Redis. While Redis is unavailable, it counts in this process, so
 * that throttles stay active.
 */
export class RedisThrottleWindows implements ThrottleWindows {
  private readonly local: ProcessThrottleWindows;

  constructor(
    private readonly client: RedisClient,
    clock: Clock,
  ) {
    this.local = new ProcessThrottleWindows(clock);
  }

  async increment(row: ThrottleRow, key: string, limit: number): Promise<ThrottleVerdict> {
    try {
      const args = [bucketMsOf(row), limit, row.windowMs * 2];
      const response = await THROTTLE.run(this.client, [throttleKey(row.name, key)], args);
      const [admitted = 0, hits = 0, resetMs = 0, bucket = 0] = response as number[];
      return { admitted: admitted === 1, hits, resetMs, bucket };
    } catch {
      return await this.local.increment(row, key, limit);
    }
  }

  async refund(row: ThrottleRow, key: string, bucket: number): Promise<void> {
    await this.local.refund(row, key, bucket);
    try {
      await REFUND.run(this.client, [throttleKey(row.name, key)], [bucketMsOf(row), bucket]);
    } catch {
      // The hit stays counted until it leaves the window. That only makes the throttle stricter.
    }
  }

  async clearWindow(row: ThrottleRow, key: string): Promise<void> {
    await this.local.clearWindow(row, key);
    try {
      await this.client.unlink(throttleKey(row.name, key));
    } catch {
      // The hits stay counted until they leave the window. That only makes the throttle stricter.
    }
  }
}

function bucketMsOf({ windowMs }: ThrottleRow): number {
  return Math.max(1, Math.floor(windowMs / MINUTE_SECONDS));
}
