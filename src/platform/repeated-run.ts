/** Repeats background work with pauses, one run at a time, until it is stopped. */

/** IsStopped returns true when a long run should end early. */
export type IsStopped = () => boolean;

/** neverStopped returns false, for runs that always complete. */
export const neverStopped: IsStopped = () => false;

/** RepeatedRun repeats a run, with a pause between the end of one run and the beginning of the next. */
export class RepeatedRun {
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | undefined;
  private isRunRequested = false;
  private hasFailed = false;
  private hasStopped = false;

  /**
   * @param run does the work once. Runs never overlap.
   * @param pauseMs the pause in milliseconds. A function is called before each pause.
   * @param failed called when a run rejects, also after `stop`, see `isStopped`. `isFirst` is false if the previous run
   * failed too, so that the log can have one line per outage.
   */
  constructor(
    private readonly run: () => Promise<unknown>,
    private readonly pauseMs: number | (() => number),
    private readonly failed: (error: unknown, isFirst: boolean) => void,
  ) {}

  /** True if `stop` was called. Long runs should then end early, and a failure may be a consequence of the stop. */
  get isStopped(): boolean {
    return this.hasStopped;
  }

  /** Starts the first run immediately. */
  start(): void {
    this.runNow();
  }

  /** Starts the first run after a pause. */
  startLater(): void {
    this.timer = setTimeout(() => this.runNow(), typeof this.pauseMs === 'number' ? this.pauseMs : this.pauseMs());
    this.timer.unref();
  }

  /** Starts a run at once. If a run is in progress, starts another run after it. */
  runNow(): void {
    if (this.hasStopped) return;
    this.isRunRequested = this.running !== undefined;
    if (this.isRunRequested) return;
    clearTimeout(this.timer);
    this.running = this.runOnce();
  }

  /** Stops the repetition. Resolves when the current run has ended. Never rejects. */
  async stop(): Promise<void> {
    this.hasStopped = true;
    clearTimeout(this.timer);
    await this.running;
  }

  private async runOnce(): Promise<void> {
    let error: unknown;
    let hasSucceeded = true;
    try {
      await this.run();
    } catch (reason) {
      hasSucceeded = false;
      error = reason;
    }
    this.running = undefined;
    if (!hasSucceeded) this.failed(error, !this.hasFailed);
    this.hasFailed = !hasSucceeded;
    if (this.hasStopped) return;
    // A requested run does not start at once after a failure, because it would fail as well.
    if (this.isRunRequested && hasSucceeded) this.runNow();
    else this.startLater();
  }
}
