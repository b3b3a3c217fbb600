/**
 * Deadlines of many calls with one timer. Setting one is an assignment; a sweep finds what is overdue. A call may
 * therefore outlive its deadline by up to two sweeps.
 */

/** Something that must be over by a certain time. */
export interface Expiring {
  /** From `Deadlines.after`; Infinity: never. */
  deadlineMs: number;
  /** Belongs to `Deadlines`. */
  deadlineSlot: number;
  expire(): void;
}

const SWEEP_INTERVAL_MS = 100;

export class Deadlines {
  /**
   * An array whose gaps are filled from its end, not a Set: a Set that is added to and deleted from leaves behind
   * tables that point at each other, and one of them in the old generation keeps every request since alive until the
   * next full collection. That cost ten milliseconds per scavenge under load.
   */
  private readonly open: Expiring[] = [];
  private readonly timer: NodeJS.Timeout;
  /** Time of the last sweep: a request sets four deadlines, and the clock costs more than the rest of them. */
  private sweptMs = performance.now();

  constructor() {
    this.timer = setInterval(() => this.sweep(), SWEEP_INTERVAL_MS);
    this.timer.unref();
  }

  /** By `performance.now()`, up to one sweep old. */
  get nowMs(): number {
    return this.sweptMs;
  }

  /** The deadline `timeoutMs` from now; never early, late by up to one sweep. */
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
    // This process was held up, and what has come in meanwhile has not been read:
    // the peers must not be blamed for that.
    if (isLate) setImmediate(() => this.expire(now));
    else this.expire(now);
  }

  private expire(now: number): void {
    // A copy, because whatever expires removes itself, and may remove others.
    for (const call of this.open.filter(({ deadlineMs }) => deadlineMs <= now)) {
      if (this.open[call.deadlineSlot] === call) call.expire();
    }
  }
}
