/** Sliding windows of any length for `ThrottlerStorage.increment`, in this process or in Redis. */
import { LRUCache } from 'lru-cache';
import type { Clock } from '../platform/clock.js';
import type { RedisClient } from '../redis/connect.js';
import { throttleKey } from '../redis/keys.js';
import { MINUTE_BUCKETS, MINUTE_SECONDS } from './model/policies.js';
import { Script } from '../redis/script.js';
import { THROTTLE_LUA } from './redis/scripts/throttle.js';
import { SlidingWindow } from './process/sliding-window.js';

/** Most addresses that are remembered at once in a process; the one that was quiet longest is forgotten first. */
const LARGEST_TABLE = 10_000;

/** ThrottleVerdict says whether a hit was admitted, and when the window gives way. */
export interface ThrottleVerdict {
  readonly admitted: boolean;
  readonly hits: number;
  /** Until the window next gives something back, or until one more fits when refused. */
  readonly resetMs: number;
}

/** ThrottleWindows counts hits of our own endpoints in windows of any length. */
export interface ThrottleWindows {
  /** Counts one hit if it fits under `limit` in any `ttlMs`; a refused hit does not count. */
  increment(name: string, key: string, ttlMs: number, limit: number): Promise<ThrottleVerdict>;
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
      return { admitted: false, hits: window.sum, resetMs: freedAt * bucketMs - nowMs };
    }
    window.add(1);
    return { admitted: true, hits: window.sum, resetMs: (window.oldest + MINUTE_BUCKETS) * bucketMs - nowMs };
  }
}

const THROTTLE = new Script(THROTTLE_LUA);

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
    const bucketMs = Math.max(1, Math.floor(ttlMs / MINUTE_SECONDS));
    try {
      const response = await THROTTLE.run(this.client, [throttleKey(name, key)], [bucketMs, limit, ttlMs * 2]);
      const [admitted = 0, hits = 0, resetMs = 0] = response as number[];
      return { admitted: admitted === 1, hits, resetMs };
    } catch {
      return await this.local.increment(name, key, ttlMs, limit);
    }
  }
}
