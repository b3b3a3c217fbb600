/**
 * How fast one webhook endpoint is told: how many attempts at the same time, how many a second, and none at all for a
 * while when it does not respond or asks for time. Its owner alone counts, so that each of these is exact.
 */
import type { AttemptMade } from '../sending/attempt.js';
import { Breaker } from '../../platform/breaker.js';
import { SLOW_MS } from './attempt-slots.js';

/** Unless an endpoint says otherwise. */
const USUAL_CONCURRENCY = 8;
const USUAL_RATE_PER_SECOND = 50;
/** Failures in a row of which each says that the receiver is down or has too much to do. */
const FAILURES_TO_OPEN = 5;
/** Behind an open breaker one attempt goes out after each of these pauses, which double. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
/** A receiver that asks for more time gets it for that delivery alone. */
const LONGEST_ASKED_MS = 60_000;
/** Attempts that say whether a lane is slow. */
const REMEMBERED = 8;
const TOO_MANY_REQUESTS = 429;
const SERVER_ERRORS = 500;

/** What an endpoint allows; null: the usual. */
export interface PaceLimits {
  readonly ratePerSecond: number | null;
  readonly concurrency: number | null;
}

/** EndpointPace says when the next attempt of a lane may begin. */
export class EndpointPace {
  /** Grows with success: a receiver that is not known yet gets one attempt at a time. */
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

  /** @param now milliseconds that never go back. */
  constructor(private readonly now: () => number = () => performance.now()) {
    this.filledAtMs = now();
    this.tokens = USUAL_RATE_PER_SECOND;
    this.breaker = this.newBreaker();
  }

  /** Takes over what the endpoint says now. */
  setLimits({ ratePerSecond, concurrency }: PaceLimits): void {
    this.mostAtOnce = concurrency ?? USUAL_CONCURRENCY;
    this.ratePerSecond = ratePerSecond ?? USUAL_RATE_PER_SECOND;
    this.tokens = Math.min(this.tokens, this.ratePerSecond);
    this.atOnce = Math.min(this.atOnce, this.mostAtOnce);
  }

  /** The receiver has done well when somebody had this lane before: it is quick until it shows that it is not. */
  trust(): void {
    this.isTrusted = true;
  }

  /** Forgets what the receiver did: there is another one now. */
  reset(): void {
    this.breaker = this.newBreaker();
    this.failuresInRow = 0;
    this.atOnce = 1;
    this.durationsMs = [];
    this.isTrusted = false;
    this.notBeforeMs = 0;
  }

  /** How long no attempt may begin, with so many under way; Infinity: until one of those has ended. */
  waitMs(underWay: number): number {
    const atOnce = this.isOpen ? 1 : this.atOnce;
    if (underWay >= atOnce) return Infinity;
    const nowMs = this.now();
    this.fill(nowMs);
    const forToken = this.tokens >= 1 ? 0 : Math.ceil(((1 - this.tokens) * 1_000) / this.ratePerSecond);
    return Math.max(0, this.notBeforeMs - nowMs, forToken, this.breaker.waitMs);
  }

  /** An attempt begins, as `waitMs` allowed. */
  begin(): void {
    this.tokens -= 1;
    this.breaker.allows();
  }

  /** There was no attempt after all. */
  putOff(pauseMs: number): void {
    this.tokens += 1;
    if (this.isOpen) this.breaker.failed();
    this.notBeforeMs = Math.max(this.notBeforeMs, this.now() + pauseMs);
  }

  /** An attempt has ended. */
  end(made: AttemptMade): void {
    this.remember(made.durationMs);
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

  /** Whether no attempt may begin for a while, because the receiver has asked for time or does not respond. */
  get isPaused(): boolean {
    return this.notBeforeMs > this.now() || this.breaker.waitMs > 0;
  }

  /** Whether the receiver is left alone but for one attempt now and then. */
  get isOpen(): boolean {
    return this.breaker.openSinceMs !== undefined;
  }

  /**
   * Whether its attempts take so long that it must not have many of the places that all lanes share; or may, for all
   * that is known of it.
   */
  get isSlow(): boolean {
    const count = this.durationsMs.length;
    return count === 0 ? !this.isTrusted : this.durationsMs.reduce((sum, ms) => sum + ms, 0) / count > SLOW_MS;
  }

  private fill(nowMs: number): void {
    const more = ((nowMs - this.filledAtMs) * this.ratePerSecond) / 1_000;
    this.tokens = Math.min(this.ratePerSecond, this.tokens + more);
    this.filledAtMs = nowMs;
  }

  private remember(durationMs: number): void {
    this.durationsMs.push(durationMs);
    if (this.durationsMs.length > REMEMBERED) this.durationsMs.shift();
  }

  private newBreaker(): Breaker {
    return new Breaker({ now: this.now }, FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
  }
}

/** Whether the receiver is down, or has more to do than it can. A refused destination costs nothing, and is neither. */
function isDown({ statusCode, error }: AttemptMade): boolean {
  if (statusCode !== null) return statusCode === TOO_MANY_REQUESTS || statusCode >= SERVER_ERRORS;
  return error === null || !error.startsWith('address_refused');
}
