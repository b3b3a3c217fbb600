/** Implements a circuit breaker, so that requests do not wait for a store that is unavailable. */
import type { Clock } from './clock.js';

/**
 * Breaker blocks calls to a store after a failure. After increasing pauses, it allows single probes until a probe
 * succeeds.
 */
export class Breaker {
  private pauseMs = 0;
  private retryAtMs = 0;
  private isProbing = false;
  /** When the breaker opened, in milliseconds of the clock. Undefined while the breaker is closed. */
  openSinceMs: number | undefined;

  constructor(
    private readonly clock: Clock,
    private readonly firstPauseMs = 100,
    private readonly longestPauseMs = 2_000,
  ) {}

  /**
   * Reports whether a call may be sent now. While the breaker is open, allows one probe at a time. The caller must
   * report the result with `recordSuccess` or `recordFailure`.
   */
  allowsCall(): boolean {
    if (this.openSinceMs === undefined) return true;
    if (this.isProbing || this.waitMs > 0) return false;
    this.isProbing = true;
    return true;
  }

  /** Milliseconds until the next probe. 0 if a call may be sent, or a probe is running. */
  get waitMs(): number {
    if (this.openSinceMs === undefined || this.isProbing) return 0;
    const waitMs = this.retryAtMs - this.clock.now();
    // A wait longer than the pause means that the clock was set back.
    return waitMs <= this.pauseMs ? Math.max(0, waitMs) : 0;
  }

  /** Records a successful call. Returns true if the success closed the breaker. */
  recordSuccess(): boolean {
    this.isProbing = false;
    if (this.openSinceMs === undefined) return false;
    this.openSinceMs = undefined;
    this.pauseMs = 0;
    return true;
  }

  /** Records a failed call. Returns true if the failure opened the breaker. */
  recordFailure(): boolean {
    const now = this.clock.now();
    const opened = this.openSinceMs === undefined;
    // Failures of calls that were sent before the breaker opened, or without a check of `allowsCall`, must not change
    // the pause.
    if (!opened && !this.isProbing) return false;
    this.isProbing = false;
    this.openSinceMs ??= now;
    this.pauseMs = Math.min(this.longestPauseMs, this.pauseMs === 0 ? this.firstPauseMs : this.pauseMs * 2);
    this.retryAtMs = now + this.pauseMs;
    return opened;
  }
}
