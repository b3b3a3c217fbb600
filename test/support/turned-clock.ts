/** A wall clock for the program that a test turns while it runs; timers and deadlines go on by the machine's. */
import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { preload, temporaryFolder } from './processes.js';

export class TurnedClock {
  private readonly path = join(temporaryFolder('clock'), 'clock');
  private readonly file = openSync(this.path, 'w');
  /** Environment of the program that goes by this clock. */
  readonly env: Readonly<Record<string, string>> = {
    ...preload('turn-clock-of-program.mjs'),
    TRAILGATE_TEST_CLOCK: this.path,
  };

  /** It begins as the machine's. */
  constructor() {
    this.runAhead(0);
  }

  /** Stops it at an instant (ms). */
  stopAt(ms: number): void {
    this.write(ms, 0);
  }

  /** Lets it run, so much ahead of the machine's (ms; negative: behind). */
  runAhead(ms: number): void {
    this.write(NaN, ms);
  }

  close(): void {
    closeSync(this.file);
  }

  private write(stoppedAtMs: number, aheadMs: number): void {
    writeSync(this.file, new Uint8Array(Float64Array.of(stoppedAtMs, aheadMs).buffer), 0, 16, 0);
  }
}
