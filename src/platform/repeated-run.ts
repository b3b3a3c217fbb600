/** Repeats background work at an interval, one run at a time, until it is stopped. */

/** IsStopped returns true when a long run should end early. */
export type IsStopped = () => boolean;

/** Returns false, for runs that always complete. */
export const neverStopped: IsStopped = () => false;

export class RepeatedRun {
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | undefined;
  private hasStopped = false;

  /**
   * @param run one run. The next one does not start before it has ended.
   * @param intervalMs from the start of a run to the start of the next one.
   * @param onError called when a run rejects, also after `stop`; see `isStopped`.
   */
  constructor(
    private readonly run: () => Promise<unknown>,
    private readonly intervalMs: number,
    private readonly onError: (error: unknown) => void,
  ) {}

  /** Whether `stop` was called. Long runs should then end early, and a failure may be a consequence. */
  get isStopped(): boolean {
    return this.hasStopped;
  }

  start(): void {
    this.timer = setInterval(() => this.runOnce(), this.intervalMs).unref();
    this.runOnce();
  }

  /** Stops the repetition. Resolves when the current run has ended. Never rejects. */
  async stop(): Promise<void> {
    this.hasStopped = true;
    clearInterval(this.timer);
    await this.running;
  }

  private runOnce(): void {
    this.running ??= this.run()
      .then(() => undefined, this.onError)
      .finally(() => (this.running = undefined));
  }
}
