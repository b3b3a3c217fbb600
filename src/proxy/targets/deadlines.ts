/**
 * Manages the deadlines of many calls with one timer. Setting a deadline is an assignment. A periodic sweep expires
 * late calls, so a call can exceed its timeout by up to two sweep intervals.
 */

/** An object that expires at a deadline, such as a call. */
export interface Expiring {
  /** Result of `Deadlines.deadlineAfter`; Infinity for no deadline. */
  deadlineMs: number;
  /** Index in the array of `Deadlines`, which owns this field. */
  deadlineSlot: number;
  /** Called after the deadline. */
  expire(): void;
}

const SWEEP_INTERVAL_MS = 100;

export class Deadlines {
  /**
   * Objects with a deadline, in an array without order. `remove` moves the last element into the gap. A Set with many
   * insertions and deletions would leave old tables that refer to each other. A table in the old generation keeps every
   * later request alive until a full collection. With a Set, each scavenge cost ten milliseconds under load.
   */
  private readonly open: Expiring[] = [];
  private readonly timer: NodeJS.Timeout;
  /** Time of the latest sweep. Each request sets four deadlines, and reading the clock each time is expensive. */
  private sweptMs = performance.now();

  constructor() {
    this.timer = setInterval(() => this.sweep(), SWEEP_INTERVAL_MS);
    this.timer.unref();
  }

  /** Current time by `performance.now()`, up to one sweep old. */
  get nowMs(): number {
    return this.sweptMs;
  }

  /** Returns the deadline `timeoutMs` from now. The deadline is never early, and up to one sweep interval late. */
  deadlineAfter(timeoutMs: number): number {
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
    // This process was blocked, so received data may not have been read yet. Read the data first, so that no peer is
    // blamed for the delay.
    if (isLate) setImmediate(() => this.expire(now));
    else this.expire(now);
  }

  private expire(now: number): void {
    // `filter` creates a copy. An expired call removes itself from `open`, and can remove others.
    for (const call of this.open.filter(({ deadlineMs }) => deadlineMs <= now)) {
      if (this.open[call.deadlineSlot] === call) call.expire();
    }
  }
}
