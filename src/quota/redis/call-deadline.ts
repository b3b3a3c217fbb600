/**
 * The deadline of calls that go out by the thousand: one timer for all, which looks after those that are open when it
 * fires, instead of one that is made and thrown away for each.
 */

/** A call on its way. */
export interface TimedCall {
  /** Time by `performance.now()`. */
  readonly sentMs: number;
  /** Belongs to `CallDeadline`. */
  deadlineSlot: number;
}

/** CallDeadline ends calls that got no response in time. */
export class CallDeadline<Call extends TimedCall> {
  /** An array whose gaps are filled from its end: a Set makes a table anew for each call that comes and goes. */
  private readonly open: Call[] = [];
  private timer: NodeJS.Timeout | undefined;

  constructor(
    readonly deadlineMs: number,
    /** Told of a call that is still open after the deadline; it is closed by then. */
    private readonly late: (call: Call) => void,
  ) {}

  /** A call is sent. */
  begin(call: Call): void {
    call.deadlineSlot = this.open.push(call) - 1;
    this.timer ??= setTimeout(() => this.check(), this.deadlineMs);
  }

  /** It has ended. @returns whether it was open: what ends after the deadline has ended before. */
  end(call: Call): boolean {
    const { open } = this;
    if (open[call.deadlineSlot] !== call) return false;
    const last = open.pop();
    if (last !== undefined && last !== call) {
      open[call.deadlineSlot] = last;
      last.deadlineSlot = call.deadlineSlot;
    }
    return true;
  }

  private check(): void {
    this.timer = undefined;
    const dueMs = performance.now() - this.deadlineMs;
    const due: Call[] = [];
    let nextMs = Infinity;
    for (const call of this.open) {
      if (call.sentMs > dueMs) nextMs = Math.min(nextMs, call.sentMs);
      else due.push(call);
    }
    if (nextMs !== Infinity) this.timer = setTimeout(() => this.check(), Math.ceil(nextMs - dueMs));
    if (due.length > 0) setImmediate(() => this.giveUp(due));
  }

  /**
   * Runs after the event loop has read its sockets once more: when it was this process that stood still, the response
   * is already there, and Redis must not be blamed.
   */
  private giveUp(due: readonly Call[]): void {
    for (const call of due) if (this.end(call)) this.late(call);
  }
}
