/** Repeats background work at an interval, one run at a time, until it is stopped. */

/** IsStopped returns true when a long run should end early. */
export type IsStopped = () => boolean;

/** Returns false, for runs that always complete. */
export const neverStopped: IsStopped = () => false;

/** RepeatedRun repeats a run, with a pause between the end of one and the beginning of the next. */
export class RepeatedRun {
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | undefined;
  private isWanted = false;
  private hasFailed = false;
  private hasStopped = false;

  /**
   * @param run one run; while it is under way no other begins.
   * @param pauseMs the pause in milliseconds. A function is called before each pause.
   * @param failed called when a run rejects; also after the end, see `isStopped`. `isFirst` is false while runs go on
   *   failing, so that a log can have one line for each outage.
   */
  constructor(
    private readonly run: () => Promise<unknown>,
    private readonly pauseMs: number | (() => number),
    private readonly failed: (error: unknown, isFirst: boolean) => void,
  ) {}

  /** Whether `stop` was called. Long runs should then end early, and a failure may be a consequence. */
  get isStopped(): boolean {
    return this.hasStopped;
  }

  /** Begins with a run. */
  start(): void {
    this.runNow();
  }

  /** Begins with a pause. */
  startLater(): void {
    this.timer = setTimeout(() => this.runNow(), typeof this.pauseMs === 'number' ? this.pauseMs : this.pauseMs());
    this.timer.unref();
  }

  /** Runs at once, or once more behind the run that is under way. */
  runNow(): void {
    if (this.hasStopped) return;
    this.isWanted = this.running !== undefined;
    if (this.isWanted) return;
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
    // A run that was wanted meanwhile does not come at once behind a failure: it would fail as well.
    if (this.isWanted && hasSucceeded) this.runNow();
    else this.startLater();
  }
}
