/**
 * Shuts the program down in named phases, in reverse order of the start. A phase that fails does not stop the following
 * phases.
 */
import type { Log } from './log.js';

interface Phase {
  readonly name: string;
  readonly run: () => Promise<void>;
  readonly timeoutMs: () => number;
}

/** ShutdownBegun is thrown to code that opens something after the shutdown has begun. */
export class ShutdownBegun extends Error {}

const PHASE_TIMEOUT_MS = 5_000;
const LOG_FLUSH_TIMEOUT_MS = 1_000;

export class Shutdown {
  private readonly phases: Phase[] = [];
  private done: Promise<void> | undefined;

  constructor(private readonly log: Log) {}

  get hasBegun(): boolean {
    return this.done !== undefined;
  }

  /**
   * Adds a phase. The phase that was added last runs first.
   * @param timeoutMs returns the maximum duration in milliseconds; called when the phase begins
   * @throws ShutdownBegun if the shutdown has begun. The phase still runs, but nothing more may be opened.
   */
  add(name: string, run: () => Promise<void>, timeoutMs = () => PHASE_TIMEOUT_MS): void {
    this.phases.push({ name, run, timeoutMs });
    if (this.hasBegun) throw new ShutdownBegun();
  }

  /** Runs every phase once, then writes the log. Later calls wait for the first. Never rejects. */
  run(): Promise<void> {
    this.done ??= this.runPhases();
    return this.done;
  }

  private async runPhases(): Promise<void> {
    for (let phase = this.phases.pop(); phase !== undefined; phase = this.phases.pop()) {
      const startedMs = performance.now();
      const failure = await runWithTimeout(phase).then(
        () => undefined,
        (error: unknown) => error,
      );
      const fields = {
        event: 'shutdown_phase',
        phase: phase.name,
        duration_ms: Math.round(performance.now() - startedMs),
      };
      if (failure === undefined) this.log.logger.info(fields);
      else this.log.logger.error({ ...fields, err: failure }, 'A phase of the shutdown failed');
    }
    await this.log.flush(LOG_FLUSH_TIMEOUT_MS);
  }
}

async function runWithTimeout({ timeoutMs: timeout, run }: Phase): Promise<void> {
  const timeoutMs = timeout();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`not done after ${timeoutMs} ms`)), timeoutMs);
  });
  try {
    await Promise.race([run(), late]);
  } finally {
    clearTimeout(timer);
  }
}
