/**
 * Something that is done again and again, with a pause between the end of one time and the next. What fails is tried
 * again; the log has one line when it begins to fail, not one each time.
 */

/** Rounds goes on until it is stopped. */
export class Rounds {
  private timer: NodeJS.Timeout | undefined;
  private under: Promise<void> | undefined;
  private again = false;
  private isStopped = false;

  /**
   * @param pauseMs asked for each time.
   * @param onEnd told how it went: undefined, or the error.
   */
  constructor(
    private readonly run: () => Promise<void>,
    private readonly pauseMs: () => number,
    private readonly onEnd: (error: unknown) => void,
  ) {}

  /** Begins with a pause. */
  start(): void {
    this.later();
  }

  /** Does it now, or, where it is being done, once more behind that. */
  now(): void {
    if (this.isStopped) return;
    if (this.under !== undefined) {
      this.again = true;
      return;
    }
    clearTimeout(this.timer);
    this.under = this.once();
  }

  /** Ends it, when what is under way has ended. */
  async stop(): Promise<void> {
    this.isStopped = true;
    clearTimeout(this.timer);
    await this.under;
  }

  private async once(): Promise<void> {
    let failure: unknown;
    try {
      await this.run();
    } catch (error) {
      failure = error;
    }
    this.under = undefined;
    this.onEnd(failure);
    if (this.isStopped) return;
    const isWanted = this.again;
    this.again = false;
    if (isWanted && failure === undefined) this.now();
    else this.later();
  }

  private later(): void {
    this.timer = setTimeout(() => this.now(), this.pauseMs());
    this.timer.unref();
  }
}
