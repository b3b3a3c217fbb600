/**
 * Deadlines of many calls with one timer. Setting one is an assignment; a sweep finds what is overdue. A call may therefore
 * outlive its deadline by up to one sweep.
 */

/** Something that must be over by a certain time. */
export interface Expiring {
  /** `performance.now()` after which it is overdue; Infinity: never. */
  deadlineMs: number;
  expire(): void;
}

const SWEEP_INTERVAL_MS = 100;

export class Deadlines {
  private readonly open = new Set<Expiring>();
  private readonly timer: NodeJS.Timeout;

  constructor() {
    this.timer = setInterval(() => this.sweep(), SWEEP_INTERVAL_MS);
    this.timer.unref();
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
    for (const call of this.open) if (call.deadlineMs <= now) call.expire();
  }
}
