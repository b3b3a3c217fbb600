/** The end of the process: by a signal, also one that comes while it starts, or by an error that nobody caught. */
import type { Log } from '../platform/log.js';
import type { Shutdown } from '../platform/shutdown.js';
import { onSignal } from '../platform/signals.js';

/** npm passes on the signal of a terminal that has reached the program already: so soon it is the same one. */
const SAME_SIGNAL_MS = 500;

export class ProgramEnd {
  private shutdown: Shutdown | undefined;
  private ending = false;
  private beganMs = 0;
  private exiting = false;

  /**
   * SIGTERM and SIGINT end in order from now on; a second one, half a second later or more, at once.
   * @param isWorker it hears of the same end several times: from the terminal, from the pool, from the pool's own end.
   */
  constructor(private readonly isWorker = false) {
    process.prependListener('exit', () => (this.exiting = true));
    for (const name of ['SIGTERM', 'SIGINT'] as const) {
      onSignal(name, () => {
        if (!this.ending || performance.now() - this.beganMs >= SAME_SIGNAL_MS) this.begin(0);
      });
    }
  }

  get hasBegun(): boolean {
    return this.ending;
  }

  /** From now on there is something to take down; what nobody caught ends in order too, with exit code 1. */
  takeDown(shutdown: Shutdown, log: Log): void {
    this.shutdown = shutdown;
    const crash = (error: unknown): void => {
      // The log's last lines, which nobody reads any more, have stopped the exit: half ended it would listen for ever.
      if (this.exiting) process.exit(1);
      log.logger.fatal({ event: 'crash', err: error }, 'An error that nobody caught: the process ends');
      if (!this.ending) this.begin(1);
    };
    process.on('uncaughtException', crash);
    process.on('unhandledRejection', crash);
  }

  /** Takes everything down and exits. */
  begin(code: number): void {
    if (this.ending && this.isWorker) return;
    if (this.ending) process.exit(1);
    this.ending = true;
    this.beganMs = performance.now();
    if (this.shutdown === undefined) process.exit(code);
    void this.shutdown.run().then(() => process.exit(code));
  }
}
