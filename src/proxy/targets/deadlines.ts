/**
 * Manages the deadlines of many calls with one timer. Setting a deadline is an assignment. A periodic sweep finds
 * expired ones, so a call may outlive its deadline by up to two sweeps.
 */

/** Something that must be over by a certain time. */
export interface Expiring {
  /** Result of `Deadlines.after`; Infinity for none. */
  deadlineMs: number;
  /** Owned by `Deadlines`. */
  deadlineSlot: number;
  expire(): void;
}

const SWEEP_INTERVAL_MS = 100;

export class Deadlines {
  /**
   * An array whose gaps are filled from its end, and not a Set. A Set with many insertions and deletions leaves old
   * tables that point at each other. One of them in the old generation keeps every later request alive until a full
   * collection. That cost ten milliseconds per scavenge under load.
   */
  private readonly open: Expiring[] = [];
  private readonly timer: NodeJS.Timeout;
  /** Time of the last sweep. A request sets four deadlines, and reading the clock would cost more than all else. */
  private sweptMs = performance.now();

  constructor() {
    this.timer = setInterval(() => this.sweep(), SWEEP_INTERVAL_MS);
    this.timer.unref();
  }

  /** Current time by `performance.now()`, up to one sweep old. */
  get nowMs(): number {
    return this.sweptMs;
  }

  /** Returns the deadline `timeoutMs` from now: never early, late by up to one sweep. */
  after(timeoutMs: number): number {
    return this.sweptMs + SWEEP_INTERVAL_MS + timeoutMs;
  }

  add(call: Expiring): void {
    call.deadlineSlot = this.open.push(call) - 1;
  }

  remove(call: Expiring): void {
    if (this.open[call.deadlineSlot] !== call) return;
    const last = this.open.pop();
    if (last === undefined || last === call) return;
    this.open[call.deadlineSlot] = last;
    last.deadlineSlot = call.deadlineSlot;
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private sweep(): void {
    const now = performance.now();
    const isLate = now - this.sweptMs > 2 * SWEEP_INTERVAL_MS;
    this.sweptMs = now;
    // This process was blocked, so received data has not been read yet. Read it first, so that peers are not blamed.
    if (isLate) setImmediate(() => this.expire(now));
    else this.expire(now);
  }

  private expire(now: number): void {
    // A copy, because an expired call removes itself and possibly others.
    for (const call of this.open.filter(({ deadlineMs }) => deadlineMs <= now)) {
      if (this.open[call.deadlineSlot] === call) call.expire();
    }
  }
}
