/** What a node knows of Redis's clock, learned from its responses. */
import type { Clock } from '../../platform/clock.js';

/** Clocks drift apart by less than this between two responses. */
const LARGEST_DRIFT_MS = 1_000;

/** RedisClock tells the time as Redis does. */
export class RedisClock {
  /** Redis's clock minus ours, from the last response: for calendars, which go by clocks that people set. */
  offsetMs = 0;
  /** Redis's clock minus this process's steady one: for deadlines, which a clock that is set must not move. */
  private aheadMs: number;

  constructor(private readonly clock: Clock) {
    this.aheadMs = clock.now() - performance.now();
  }

  /** Redis's time now, as far as it is known. */
  now(): number {
    return this.clock.now() + this.offsetMs;
  }

  /** Whether this process's clock was set since Redis was last heard: `now` is wrong by as much, perhaps by months. */
  get isOff(): boolean {
    return Math.abs(this.now() - this.aheadMs - performance.now()) > LARGEST_DRIFT_MS;
  }

  /** The instant of Redis's clock (whole ms) that is `waitMs` after `steadyMs` of `performance.now()`. */
  instantAfter(steadyMs: number, waitMs: number): number {
    return Math.ceil(steadyMs + this.aheadMs + waitMs);
  }

  /**
   * Notes the time in a response. It was read somewhere between sending and receiving: what was known before is kept as
   * far as it agrees with that, so that a response that took long spoils nothing.
   */
  heard(redisMs: number, sentMs: number, receivedMs: number): void {
    this.offsetMs = redisMs - this.clock.now();
    this.aheadMs = Math.min(Math.max(this.aheadMs, redisMs - receivedMs), redisMs + 1 - sentMs);
  }
}
