/**
 * Limits the attempts at one webhook endpoint: concurrency, rate, and pauses when the receiver fails or sends
 * `Retry-After`. Only the process that owns the lane makes attempts, so the limits are exact.
 */
import type { AttemptMade } from '../sending/attempt.js';
import { Breaker } from '../../platform/breaker.js';
import { SLOW_MS } from './attempt-slots.js';

/** Defaults for endpoints without their own limits. */
const USUAL_CONCURRENCY = 8;
const USUAL_RATE_PER_SECOND = 50;
/** Number of consecutive signs of an unavailable or overloaded receiver that opens the circuit breaker. */
const FAILURES_TO_OPEN = 5;
/**
 * First pause of the open circuit breaker. After each pause, the lane makes one attempt. Each failure doubles the
 * pause.
 */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
/** Maximum pause of the endpoint for `Retry-After`. A longer value delays only the delivery that received it. */
const LONGEST_ASKED_MS = 60_000;
/** Number of recent attempts whose average duration decides whether a lane is slow. */
const MAX_DURATIONS = 8;
const TOO_MANY_REQUESTS = 429;
/** Lowest status of server errors. */
const FIRST_SERVER_ERROR = 500;

/** Configured limits of an endpoint; null for the default. */
export interface PaceLimits {
  readonly ratePerSecond: number | null;
  readonly concurrency: number | null;
}

/** EndpointPace decides when the next attempt of a lane may start. */
export class EndpointPace {
  /** Current concurrency. It starts at 1, grows with each success, and halves if a request gets no response. */
  private concurrency = 1;
  private maxConcurrency = USUAL_CONCURRENCY;
  private ratePerSecond = USUAL_RATE_PER_SECOND;
  /** Tokens of the rate limit. Each attempt takes one token. */
  private tokens = 0;
  private filledAtMs: number;
  /** Time before which no attempt starts, by the monotonic clock. */
  private notBeforeMs = 0;
  private failuresInRow = 0;
  /** Durations of the latest attempts in milliseconds, at most `MAX_DURATIONS`. */
  private durationsMs: number[] = [];
  /** See `assumeQuick`. */
  private isTrusted = false;
  private breaker: Breaker;

  /** @param now returns the time of a monotonic clock in milliseconds. */
  constructor(private readonly now: () => number = () => performance.now()) {
    this.filledAtMs = now();
    this.tokens = USUAL_RATE_PER_SECOND;
    this.breaker = this.newBreaker();
  }

  /** Applies the configured limits of the endpoint. */
  setLimits({ ratePerSecond, concurrency }: PaceLimits): void {
    this.maxConcurrency = concurrency ?? USUAL_CONCURRENCY;
    this.ratePerSecond = ratePerSecond ?? USUAL_RATE_PER_SECOND;
    this.tokens = Math.min(this.tokens, this.ratePerSecond);
    this.concurrency = Math.min(this.concurrency, this.maxConcurrency);
  }

  /**
   * Treats the receiver as quick until the first attempt has ended, because the latest attempt of a previous owner
   * succeeded.
   */
  assumeQuick(): void {
    this.isTrusted = true;
  }

  /** Resets all state, because the endpoint has a new receiver. */
  resetState(): void {
    this.breaker = this.newBreaker();
    this.failuresInRow = 0;
    this.concurrency = 1;
    this.durationsMs = [];
    this.isTrusted = false;
    this.notBeforeMs = 0;
  }

  /** Returns the milliseconds until the next attempt may start; Infinity if an attempt in progress must end first. */
  waitMs(inProgress: number): number {
    const allowed = this.isOpen ? 1 : this.concurrency;
    if (inProgress >= allowed) return Infinity;
    const nowMs = this.now();
    this.refillTokens(nowMs);
    const tokenWaitMs = this.tokens >= 1 ? 0 : Math.ceil(((1 - this.tokens) * 1_000) / this.ratePerSecond);
    return Math.max(0, this.notBeforeMs - nowMs, tokenWaitMs, this.breaker.waitMs);
  }

  /** Records the start of an attempt. Call this only if `waitMs` returned 0. */
  recordStart(): void {
    this.tokens -= 1;
    this.breaker.allowsCall();
  }

  /** Records that a started attempt was not made, and pauses the endpoint. */
  recordSkipped(pauseMs: number): void {
    this.tokens += 1;
    if (this.isOpen) this.breaker.recordFailure();
    this.notBeforeMs = Math.max(this.notBeforeMs, this.now() + pauseMs);
  }

  /** Records the result of an attempt. */
  recordResult(made: AttemptMade): void {
    this.recordDuration(made.durationMs);
    if (made.retryAfterMs !== undefined) {
      this.notBeforeMs = this.now() + Math.min(made.retryAfterMs, LONGEST_ASKED_MS);
    }
    if (isDown(made)) {
      this.failuresInRow += 1;
      if (made.statusCode === null) this.concurrency = Math.max(1, this.concurrency >> 1);
      if (this.failuresInRow >= FAILURES_TO_OPEN) this.breaker.recordFailure();
      return;
    }
    this.failuresInRow = 0;
    this.breaker.recordSuccess();
    if (made.outcome === 'succeeded') this.concurrency = Math.min(this.maxConcurrency, this.concurrency + 1);
  }

  /** Whether the endpoint is paused, for example by `Retry-After` or the circuit breaker. */
  get isPaused(): boolean {
    return this.notBeforeMs > this.now() || this.breaker.waitMs > 0;
  }

  /** Whether the circuit breaker is open. */
  get isOpen(): boolean {
    return this.breaker.openSinceMs !== undefined;
  }

  /** Whether attempts must use the slow slots, because the receiver is slow on average or its speed is unknown. */
  get isSlow(): boolean {
    const count = this.durationsMs.length;
    return count === 0 ? !this.isTrusted : this.durationsMs.reduce((sum, ms) => sum + ms, 0) / count > SLOW_MS;
  }

  private refillTokens(nowMs: number): void {
    const more = ((nowMs - this.filledAtMs) * this.ratePerSecond) / 1_000;
    this.tokens = Math.min(this.ratePerSecond, this.tokens + more);
    this.filledAtMs = nowMs;
  }

  private recordDuration(durationMs: number): void {
    this.durationsMs.push(durationMs);
    if (this.durationsMs.length > MAX_DURATIONS) this.durationsMs.shift();
  }

  private newBreaker(): Breaker {
    return new Breaker({ now: this.now }, FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
  }
}

/**
 * Reports whether a result is a sign of an unavailable or overloaded receiver. A destination that the gateway refused
 * is not such a sign.
 */
function isDown({ statusCode, error }: AttemptMade): boolean {
  if (statusCode !== null) return statusCode === TOO_MANY_REQUESTS || statusCode >= FIRST_SERVER_ERROR;
  return error === null || !error.startsWith('address_refused');
}
