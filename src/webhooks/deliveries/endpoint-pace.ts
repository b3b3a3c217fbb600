/**
 * Limits the attempts at one webhook endpoint: concurrency, rate, and pauses when it fails or sends `Retry-After`. Only
 * the owner of the lane counts, so the limits are exact.
 */
import type { AttemptMade } from '../sending/attempt.js';
import { Breaker } from '../../platform/breaker.js';
import { SLOW_MS } from './attempt-slots.js';

/** Defaults for endpoints without their own limits. */
const USUAL_CONCURRENCY = 8;
const USUAL_RATE_PER_SECOND = 50;
/** Consecutive failures, each a sign of an unavailable or overloaded receiver, that open the circuit breaker. */
const FAILURES_TO_OPEN = 5;
/** While the breaker is open, one attempt is sent after each pause. The pause doubles. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
/** Longest pause of the endpoint for a `Retry-After`. A longer one only delays that delivery. */
const LONGEST_ASKED_MS = 60_000;
/** Number of recent attempts that decide whether a lane is slow. */
const REMEMBERED = 8;
const TOO_MANY_REQUESTS = 429;
const SERVER_ERRORS = 500;

/** Limits of an endpoint; null for the default. */
export interface PaceLimits {
  readonly ratePerSecond: number | null;
  readonly concurrency: number | null;
}

/** EndpointPace decides when the next attempt of a lane may start. */
export class EndpointPace {
  /** Current concurrency. It grows with success; an unknown receiver gets one attempt at a time. */
  private atOnce = 1;
  private mostAtOnce = USUAL_CONCURRENCY;
  private ratePerSecond = USUAL_RATE_PER_SECOND;
  private tokens = 0;
  private filledAtMs: number;
  private notBeforeMs = 0;
  private failuresInRow = 0;
  private durationsMs: number[] = [];
  private isTrusted = false;
  private breaker: Breaker;

  /** Creates a pace. @param now monotonic clock in milliseconds. */
  constructor(private readonly now: () => number = () => performance.now()) {
    this.filledAtMs = now();
    this.tokens = USUAL_RATE_PER_SECOND;
    this.breaker = this.newBreaker();
  }

  /** Applies the endpoint's limits. */
  setLimits({ ratePerSecond, concurrency }: PaceLimits): void {
    this.mostAtOnce = concurrency ?? USUAL_CONCURRENCY;
    this.ratePerSecond = ratePerSecond ?? USUAL_RATE_PER_SECOND;
    this.tokens = Math.min(this.tokens, this.ratePerSecond);
    this.atOnce = Math.min(this.atOnce, this.mostAtOnce);
  }

  /** Treats the receiver as quick until proven otherwise, because a previous owner of the lane had success. */
  trust(): void {
    this.isTrusted = true;
  }

  /** Resets all state, because the endpoint has a new receiver. */
  reset(): void {
    this.breaker = this.newBreaker();
    this.failuresInRow = 0;
    this.atOnce = 1;
    this.durationsMs = [];
    this.isTrusted = false;
    this.notBeforeMs = 0;
  }

  /** Returns the milliseconds until the next attempt may start; Infinity if one in progress must end first. */
  waitMs(underWay: number): number {
    const atOnce = this.isOpen ? 1 : this.atOnce;
    if (underWay >= atOnce) return Infinity;
    const nowMs = this.now();
    this.refillTokens(nowMs);
    const forToken = this.tokens >= 1 ? 0 : Math.ceil(((1 - this.tokens) * 1_000) / this.ratePerSecond);
    return Math.max(0, this.notBeforeMs - nowMs, forToken, this.breaker.waitMs);
  }

  /** Records the start of an attempt. Call it only if `waitMs` allows it. */
  recordStart(): void {
    this.tokens -= 1;
    this.breaker.allows();
  }

  /** Records that the attempt was not made, and pauses the endpoint. */
  recordSkipped(pauseMs: number): void {
    this.tokens += 1;
    if (this.isOpen) this.breaker.failed();
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
      if (made.statusCode === null) this.atOnce = Math.max(1, this.atOnce >> 1);
      if (this.failuresInRow >= FAILURES_TO_OPEN) this.breaker.failed();
      return;
    }
    this.failuresInRow = 0;
    this.breaker.succeeded();
    if (made.outcome === 'succeeded') this.atOnce = Math.min(this.mostAtOnce, this.atOnce + 1);
  }

  /** Whether the endpoint is paused by `Retry-After` or the circuit breaker. */
  get isPaused(): boolean {
    return this.notBeforeMs > this.now() || this.breaker.waitMs > 0;
  }

  /** Whether the circuit breaker is open. */
  get isOpen(): boolean {
    return this.breaker.openSinceMs !== undefined;
  }

  /** Whether attempts must use the slow slots: they take long on average, or nothing is known about the receiver. */
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
    if (this.durationsMs.length > REMEMBERED) this.durationsMs.shift();
  }

  private newBreaker(): Breaker {
    return new Breaker({ now: this.now }, FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
  }
}

/**
 * Reports whether a result means that the receiver is unavailable or overloaded. A forbidden destination is neither.
 */
function isDown({ statusCode, error }: AttemptMade): boolean {
  if (statusCode !== null) return statusCode === TOO_MANY_REQUESTS || statusCode >= SERVER_ERRORS;
  return error === null || !error.startsWith('address_refused');
}
