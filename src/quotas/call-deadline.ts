/**
 * The deadline of calls that go out by the thousand: one timer for all, which looks after those that are open when it fires, instead of one
 * that is made and thrown away for each.
 */

/** A call on its way. */
export interface TimedCall {
  /** By `performance.now()`. */
  readonly sentMs: number;
}

export class CallDeadline<Call extends TimedCall> {
  /** In the order in which they were sent. */
  private readonly open = new Set<Call>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    readonly deadlineMs: number,
    /** Told of a call that is still open after the deadline; it is closed by then. */
    private readonly late: (call: Call) => void,
  ) {}

  /** A call is sent. */
  begin(call: Call): void {
    this.open.add(call);
    this.timer ??= setTimeout(() => this.check(), this.deadlineMs);
  }

  /** It has ended. @returns whether it was open: what ends after the deadline has ended before. */
  end(call: Call): boolean {
    return this.open.delete(call);
  }

  private check(): void {
    this.timer = undefined;
    const dueMs = performance.now() - this.deadlineMs;
    const due: Call[] = [];
    for (const call of this.open) {
      if (call.sentMs > dueMs) {
        this.timer = setTimeout(() => this.check(), Math.ceil(call.sentMs - dueMs));
        break;
      }
      due.push(call);
    }
    if (due.length > 0) setImmediate(() => this.giveUp(due));
  }

  /**
   * Runs after the event loop has read its sockets once more: when it was this process that stood still, the answer is already there, and
   * Redis must not be blamed.
   */
  private giveUp(due: readonly Call[]): void {
    for (const call of due) if (this.end(call)) this.late(call);
  }
}
