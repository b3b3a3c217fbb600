/** Ends the process on a signal, even during the start, or on an uncaught error. */
import type { Log } from '../platform/log.js';
import type { Shutdown } from '../platform/shutdown.js';
import { onSignal } from '../platform/signals.js';

/** Signals within this time are the same one: npm forwards a signal that the terminal also sends to the program. */
const SAME_SIGNAL_MS = 500;

export class ProgramEnd {
  private shutdown: Shutdown | undefined;
  private ending = false;
  private beganMs = 0;
  private exiting = false;

  /**
   * Handles SIGTERM and SIGINT. The first one starts the shutdown. A later one exits immediately.
   * @param isWorker whether repeated signals are ignored, because terminal and pool both signal workers.
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

  /** Sets the shutdown to run at the end. Uncaught errors also run it, with exit code 1. */
  takeDown(shutdown: Shutdown, log: Log): void {
    this.shutdown = shutdown;
    const crash = (error: unknown): void => {
      // The log's reader is gone, and its last lines block the exit. Without this, the process would stay.
      if (this.exiting) process.exit(1);
      log.logger.fatal({ event: 'crash', err: error }, 'Uncaught error: the process ends');
      if (!this.ending) this.begin(1);
    };
    process.on('uncaughtException', crash);
    process.on('unhandledRejection', crash);
  }

  /** Shuts down and exits. */
  begin(code: number): void {
    if (this.ending && this.isWorker) return;
    if (this.ending) process.exit(1);
    this.ending = true;
    this.beganMs = performance.now();
    if (this.shutdown === undefined) process.exit(code);
    void this.shutdown.run().then(() => process.exit(code));
  }
}
