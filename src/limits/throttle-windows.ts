/** Sliding windows of any length for `ThrottlerStorage.increment`, in this process or in Redis. */
import { LRUCache } from 'lru-cache';
import type { Clock } from '../platform/clock.js';
import type { RedisClient } from '../redis/connect.js';
import { throttleKey } from '../redis/keys.js';
import { MINUTE_BUCKETS, MINUTE_SECONDS } from './model/policies.js';
import { Script } from '../redis/script.js';
import { THROTTLE_LUA, THROTTLE_REFUND_LUA } from './redis/scripts/throttle.js';
import { SlidingWindow } from './process/sliding-window.js';

/** Most addresses that are remembered at once in a process; the one that was quiet longest is forgotten first. */
const LARGEST_TABLE = 10_000;

/** ThrottleVerdict says whether a hit was admitted, and when the window gives way. */
export interface ThrottleVerdict {
  readonly admitted: boolean;
  readonly hits: number;
  /** Until the window next gives something back, or until one more fits when refused. */
  readonly resetMs: number;
  /** Where it was counted, for `refund`. */
  readonly bucket: number;
}

/** ThrottleWindows counts hits of our own endpoints in windows of any length. */
export interface ThrottleWindows {
  /** Counts one hit if it fits under `limit` in any `ttlMs`; a refused hit does not count. */
  increment(name: string, key: string, ttlMs: number, limit: number): Promise<ThrottleVerdict>;
  /** Refunds a hit that was admitted in this bucket, as far as the window still holds it. Never rejects. */
  refund(name: string, key: string, ttlMs: number, bucket: number): Promise<void>;
  /** Forgets every hit of the window. Never rejects. */
  forget(name: string, key: string): Promise<void>;
}

/** ProcessThrottleWindows counts them in this process. */
export class ProcessThrottleWindows implements ThrottleWindows {
  private readonly windows = new LRUCache<string, SlidingWindow>({ max: LARGEST_TABLE });

  constructor(private readonly clock: Clock) {}

  async increment(name: string, key: string, ttlMs: number, limit: number): Promise<ThrottleVerdict> {
    const id = `${name}:${key}`;
    const bucketMs = ttlMs / MINUTE_SECONDS;
    const nowMs = this.clock.now();
    let window = this.windows.get(id);
    if (window === undefined) this.windows.set(id, (window = new SlidingWindow()));
    window.slideTo(Math.floor(nowMs / bucketMs));
    if (window.sum >= limit) {
      const freedAt = window.freedAt(window.sum + 1 - limit);
      return { admitted: false, hits: window.sum, resetMs: freedAt * bucketMs - nowMs, bucket: window.current };
    }
    window.add(1);
    const resetMs = (window.oldest + MINUTE_BUCKETS) * bucketMs - nowMs;
    return { admitted: true, hits: window.sum, resetMs, bucket: window.current };
  }

  async refund(name: string, key: string, ttlMs: number, bucket: number): Promise<void> {
    const window = this.windows.get(`${name}:${key}`);
    window?.slideTo(Math.floor(this.clock.now() / (ttlMs / MINUTE_SECONDS)));
    window?.giveBack(bucket, 1);
  }

  async forget(name: string, key: string): Promise<void> {
    this.windows.delete(`${name}:${key}`);
  }
}

const THROTTLE = new Script(THROTTLE_LUA);
const REFUND = new Script(THROTTLE_REFUND_LUA);

/** Shared by every node; falls back to this process while Redis is away, so that a throttle is never simply open. */
export class RedisThrottleWindows implements ThrottleWindows {
  private readonly local: ProcessThrottleWindows;

  constructor(
    private readonly client: RedisClient,
    clock: Clock,
  ) {
    this.local = new ProcessThrottleWindows(clock);
  }

  async increment(name: string, key: string, ttlMs: number, limit: number): Promise<ThrottleVerdict> {
    try {
      const args = [bucketMsOf(ttlMs), limit, ttlMs * 2];
      const response = await THROTTLE.run(this.client, [throttleKey(name, key)], args);
      const [admitted = 0, hits = 0, resetMs = 0, bucket = 0] = response as number[];
      return { admitted: admitted === 1, hits, resetMs, bucket };
    } catch {
      return await this.local.increment(name, key, ttlMs, limit);
    }
  }

  async refund(name: string, key: string, ttlMs: number, bucket: number): Promise<void> {
    await this.local.refund(name, key, ttlMs, bucket);
    try {
      await REFUND.run(this.client, [throttleKey(name, key)], [bucketMsOf(ttlMs), bucket]);
    } catch {
      // It stays counted until it leaves the window: a throttle that is a little narrower is no reason to fail.
    }
  }

  async forget(name: string, key: string): Promise<void> {
    await this.local.forget(name, key);
    try {
      await this.client.unlink(throttleKey(name, key));
    } catch {
      // As above.
    }
  }
}

function bucketMsOf(ttlMs: number): number {
  return Math.max(1, Math.floor(ttlMs / MINUTE_SECONDS));
}
