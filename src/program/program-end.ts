/** Ends the process on a signal, even during the start, or on an uncaught error. */
import type { Log } from '../platform/log.js';
import type { Shutdown } from '../platform/shutdown.js';
import { onSignal } from '../platform/signals.js';

/**
 * Time within which repeated signals are treated as a single signal. npm forwards a signal that the terminal also sends
 * to the program.
 */
const SAME_SIGNAL_MS = 500;

export class ProgramEnd {
  private shutdown: Shutdown | undefined;
  private ending = false;
  private beganMs = 0;
  private isExiting = false;

  /**
   * Handles SIGTERM and SIGINT. The first signal starts the shutdown. A later signal exits immediately with code 1.
   * @param isWorker whether later signals are ignored, because a worker gets each signal from the terminal and from the
   * pool
   */
  constructor(private readonly isWorker = false) {
    process.prependListener('exit', () => (this.isExiting = true));
    for (const name of ['SIGTERM', 'SIGINT'] as const) {
      onSignal(name, () => {
        if (!this.ending || performance.now() - this.beganMs >= SAME_SIGNAL_MS) this.begin(0);
      });
    }
  }

  get hasBegun(): boolean {
    return this.ending;
  }

  /**
   * Sets the shutdown that runs before the process exits. An uncaught error also runs the shutdown, then exits with
   * code 1.
   */
  setShutdown(shutdown: Shutdown, log: Log): void {
    this.shutdown = shutdown;
    const crash = (error: unknown): void => {
      // Errors can also occur while the process exits, for example if the log has no reader. Without this call, the
      // process would keep running.
      if (this.isExiting) process.exit(1);
      log.logger.fatal({ event: 'crash', err: error }, 'Uncaught error: the process ends');
      if (!this.ending) this.begin(1);
    };
    process.on('uncaughtException', crash);
    process.on('unhandledRejection', crash);
  }

  /**
   * Shuts down, then exits with `code`. Exits at once if no shutdown is set. A second call exits at once with code 1,
   * but a worker ignores it.
   */
  begin(code: number): void {
    if (this.ending && this.isWorker) return;
    if (this.ending) process.exit(1);
    this.ending = true;
    this.beganMs = performance.now();
    if (this.shutdown === undefined) process.exit(code);
    void this.shutdown.run().then(() => process.exit(code));
  }
}
