/**
 * Enforces the deadline of thousands of calls to Redis with one timer, because one timer per call would be expensive.
 * When the timer fires, all open calls are checked.
 */

/** TimedCall is a call in flight. */
export interface TimedCall {
  /** When the call was sent, by `performance.now()`. */
  readonly sentMs: number;
  /** Index of the call in `CallDeadline.open`. Only `CallDeadline` writes it. */
  deadlineSlot: number;
}

/** CallDeadline reports calls that got no response within the deadline. */
export class CallDeadline<Call extends TimedCall> {
  /**
   * Open calls, in no order. When a call is removed, the last call takes its place. A Set would rebuild its table
   * often.
   */
  private readonly open: Call[] = [];
  private timer: NodeJS.Timeout | undefined;

  constructor(
    readonly deadlineMs: number,
    /**
     * Receives each call that is still open after the deadline. `CallDeadline` has removed the call from the open
     * calls.
     */
    private readonly onLate: (call: Call) => void,
  ) {}

  /** Adds a call that is being sent. */
  begin(call: Call): void {
    call.deadlineSlot = this.open.push(call) - 1;
    this.timer ??= setTimeout(() => this.check(), this.deadlineMs);
  }

  /**
   * Removes a call that has ended.
   * @returns false if the call is no longer open, because its deadline has passed.
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
    if (due.length > 0) setImmediate(() => this.expire(due));
  }

  /**
   * Ends the calls whose deadline has passed. Runs after the event loop has read its sockets once more. If this process
   * was blocked, the response has already arrived, and Redis was not slow.
   */
  private expire(due: readonly Call[]): void {
    for (const call of due) if (this.end(call)) this.onLate(call);
  }
}
