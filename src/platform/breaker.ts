/**
 * A circuit breaker: after a failure the store is left alone, and asked again by one call at a time with growing
 * pauses.
 */
import type { Clock } from './clock.js';

/** Breaker leaves a failing store alone, and lets one call at a time ask whether it is back. */
export class Breaker {
  private pauseMs = 0;
  private retryAtMs = 0;
  private probing = false;
  /** When the store was lost; undefined while it answers. */
  openSinceMs: number | undefined;

  constructor(
    private readonly clock: Clock,
    private readonly firstPauseMs = 100,
    private readonly longestPauseMs = 2_000,
  ) {}

  /** Whether a call may go out now. While open, it says yes to one probe at a time. */
  allows(): boolean {
    if (this.openSinceMs === undefined) return true;
    if (this.probing || this.waitMs > 0) return false;
    this.probing = true;
    return true;
  }

  /** How long no call will go out; 0 where one may, or is on its way. */
  get waitMs(): number {
    if (this.openSinceMs === undefined || this.probing) return 0;
    const waitMs = this.retryAtMs - this.clock.now();
    // Longer than any pause: the clock was set back.
    return waitMs <= this.pauseMs ? Math.max(0, waitMs) : 0;
  }

  /** Returns true when this success closed the breaker. */
  succeeded(): boolean {
    this.probing = false;
    if (this.openSinceMs === undefined) return false;
    this.openSinceMs = undefined;
    this.pauseMs = 0;
    return true;
  }

  /** Returns true when this failure opened the breaker. */
  failed(): boolean {
    const now = this.clock.now();
    const opened = this.openSinceMs === undefined;
    // A call that was under way when the store was lost, or that did not ask: it says nothing about how long to wait.
    if (!opened && !this.probing) return false;
    this.probing = false;
    this.openSinceMs ??= now;
    this.pauseMs = Math.min(this.longestPauseMs, this.pauseMs === 0 ? this.firstPauseMs : this.pauseMs * 2);
    this.retryAtMs = now + this.pauseMs;
    return opened;
  }
}
