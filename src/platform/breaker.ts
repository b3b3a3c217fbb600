/** A circuit breaker. */
import type { Clock } from './clock.js';

/** Breaker blocks calls to a store after a failure, and lets single probes through with growing pauses. */
export class Breaker {
  private pauseMs = 0;
  private retryAtMs = 0;
  private probing = false;
  /** When the store was lost. Undefined while the breaker is closed. */
  openSinceMs: number | undefined;

  constructor(
    private readonly clock: Clock,
    private readonly firstPauseMs = 100,
    private readonly longestPauseMs = 2_000,
  ) {}

  /** Whether a call may be sent now. While the breaker is open, allows one probe at a time. */
  allows(): boolean {
    if (this.openSinceMs === undefined) return true;
    if (this.probing || this.waitMs > 0) return false;
    this.probing = true;
    return true;
  }

  /** Milliseconds until the next probe. 0 if a call may be sent, or a probe is running. */
  get waitMs(): number {
    if (this.openSinceMs === undefined || this.probing) return 0;
    const waitMs = this.retryAtMs - this.clock.now();
    // A wait longer than the pause means that the clock was set back.
    return waitMs <= this.pauseMs ? Math.max(0, waitMs) : 0;
  }

  /** Records a success. Returns true if it closed the breaker. */
  succeeded(): boolean {
    this.probing = false;
    if (this.openSinceMs === undefined) return false;
    this.openSinceMs = undefined;
    this.pauseMs = 0;
    return true;
  }

  /** Records a failure. Returns true if it opened the breaker. */
  failed(): boolean {
    const now = this.clock.now();
    const opened = this.openSinceMs === undefined;
    // Ignore calls that were sent before the breaker opened, or without asking it. They must not change the pause.
    if (!opened && !this.probing) return false;
    this.probing = false;
    this.openSinceMs ??= now;
    this.pauseMs = Math.min(this.longestPauseMs, this.pauseMs === 0 ? this.firstPauseMs : this.pauseMs * 2);
    this.retryAtMs = now + this.pauseMs;
    return opened;
  }
}
