/** Work that nobody waits for, done again and again: one run at a time, until the process ends. */

/** IsStopped returns true once a long run is to end early. */
export type IsStopped = () => boolean;

/** Returns false, for a run that always goes to its end. */
export const neverStopped: IsStopped = () => false;

/** RepeatedRun starts it, and starts it again. */
export class RepeatedRun {
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | undefined;
  private hasStopped = false;

  /**
   * @param run one run; while it is under way no other begins.
   * @param intervalMs from the beginning of one to that of the next.
   * @param failed told of a run that rejects; also after the end, see `isStopped`.
   */
  constructor(
    private readonly run: () => Promise<unknown>,
    private readonly intervalMs: number,
    private readonly failed: (error: unknown) => void,
  ) {}

  /** Whether the end has begun. A run that takes long ends early then, and one that fails may fail because of it. */
  get isStopped(): boolean {
    return this.hasStopped;
  }

  /** Runs it now, and at every interval. */
  start(): void {
    this.timer = setInterval(() => this.runOnce(), this.intervalMs).unref();
    this.runOnce();
  }

  /** Resolves when nothing of it runs any more. Never rejects. */
  async stop(): Promise<void> {
    this.hasStopped = true;
    clearInterval(this.timer);
    await this.running;
  }

  private runOnce(): void {
    this.running ??= this.run()
      .then(() => undefined, this.failed)
      .finally(() => (this.running = undefined));
  }
}
