/**
 * One deadline timer for thousands of calls. When it fires, it checks all open calls. This avoids creating a timer per
 * call.
 */

/** TimedCall is a call in flight. */
export interface TimedCall {
  /** Time by `performance.now()`. */
  readonly sentMs: number;
  /** Index in the open calls. Only `CallDeadline` writes it. */
  deadlineSlot: number;
}

/** CallDeadline ends calls that got no response in time. */
export class CallDeadline<Call extends TimedCall> {
  /** Open calls without order. The last call fills a gap. A Set would rebuild its table as calls come and go. */
  private readonly open: Call[] = [];
  private timer: NodeJS.Timeout | undefined;

  constructor(
    readonly deadlineMs: number,
    /** Receives each call that is still open after the deadline. The call is closed by then. */
    private readonly late: (call: Call) => void,
  ) {}

  /** Adds a call that is being sent. */
  begin(call: Call): void {
    call.deadlineSlot = this.open.push(call) - 1;
    this.timer ??= setTimeout(() => this.check(), this.deadlineMs);
  }

  /**
   * Removes a call that has ended.
   * @returns false if the call was not open any more, because its deadline has passed.
   */
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
   * Ends the calls that are due. Runs after the event loop has read its sockets once more. If this process was blocked,
   * the response is already there and Redis was not slow.
   */
  private giveUp(due: readonly Call[]): void {
    for (const call of due) if (this.end(call)) this.late(call);
  }
}
