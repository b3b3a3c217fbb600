/** Estimates Redis's clock from the times in its responses, for calendars and for the deadlines of calls. */
import type { Clock } from '../../platform/clock.js';

/** Maximum drift between the clocks from one response to the next. A larger difference means that a clock was set. */
const LARGEST_DRIFT_MS = 1_000;

/** RedisClock estimates Redis's time. Before the first response, it assumes that this node's clock is right. */
export class RedisClock {
  /** Redis's clock minus this node's clock at the last response, in ms. For calendars, which use wall clocks. */
  offsetMs = 0;
  /** Redis's clock minus `performance.now()`, in ms. For deadlines, which must not move when a wall clock is set. */
  private aheadMs: number;

  constructor(private readonly clock: Clock) {
    this.aheadMs = clock.now() - performance.now();
  }

  /** Returns Redis's estimated current time, in ms. */
  now(): number {
    return this.clock.now() + this.offsetMs;
  }

  /**
   * Reports whether this process's clock was set since the last response. If so, the result of `now` is wrong by the
   * same amount, perhaps by months.
   */
  get isOff(): boolean {
    return Math.abs(this.now() - this.aheadMs - performance.now()) > LARGEST_DRIFT_MS;
  }

  /** Returns the instant of Redis's clock (whole ms) that is `waitMs` after `steadyMs` of `performance.now()`. */
  instantAfter(steadyMs: number, waitMs: number): number {
    return Math.ceil(steadyMs + this.aheadMs + waitMs);
  }

  /**
   * Updates the estimate with the time in a response, which was read between sending and receiving. The estimate for
   * deadlines changes only if it contradicts the response, so that a slow response does not make it worse.
   */
  recordTime(redisMs: number, sentMs: number, receivedMs: number): void {
    this.offsetMs = redisMs - this.clock.now();
    this.aheadMs = Math.min(Math.max(this.aheadMs, redisMs - receivedMs), redisMs + 1 - sentMs);
  }
}
