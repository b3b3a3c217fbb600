/**
 * Deadlines of many calls with one timer. Setting one is an assignment; a sweep finds what is overdue. A call may therefore
 * outlive its deadline by up to two sweeps.
 */

/** Something that must be over by a certain time. */
export interface Expiring {
  /** From `Deadlines.after`; Infinity: never. */
  deadlineMs: number;
  expire(): void;
}

const SWEEP_INTERVAL_MS = 100;

export class Deadlines {
  private readonly open = new Set<Expiring>();
  private readonly timer: NodeJS.Timeout;
  /** Time of the last sweep: a request sets four deadlines, and the clock costs more than the rest of them. */
  private sweptMs = performance.now();

  constructor() {
    this.timer = setInterval(() => this.sweep(), SWEEP_INTERVAL_MS);
    this.timer.unref();
  }

  /** The deadline `timeoutMs` from now; never early, late by up to one sweep. */
  after(timeoutMs: number): number {
    return this.sweptMs + SWEEP_INTERVAL_MS + timeoutMs;
  }

  add(call: Expiring): void {
    this.open.add(call);
  }

  remove(call: Expiring): void {
    this.open.delete(call);
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private sweep(): void {
    const now = performance.now();
    this.sweptMs = now;
    for (const call of this.open) if (call.deadlineMs <= now) call.expire();
  }
}
