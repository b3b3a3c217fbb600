/** A wall clock of the program that a test changes at runtime. Timers and deadlines still use the machine's clock. */
import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { preload, temporaryFolder } from './processes.js';

export class TurnedClock {
  private readonly path = join(temporaryFolder('clock'), 'clock');
  private readonly file = openSync(this.path, 'w');
  /** Environment variables that make a program use this clock. */
  readonly env: Readonly<Record<string, string>> = {
    ...preload('turn-clock-of-program.mjs'),
    TRAILGATE_TEST_CLOCK: this.path,
  };

  /** Creates a clock that shows the machine's time. The test must close it. */
  constructor() {
    this.runAhead(0);
  }

  /** Stops the clock at a time, in ms since the epoch. */
  stopAt(ms: number): void {
    this.write(ms, 0);
  }

  /** Lets the clock run, `ms` milliseconds ahead of the machine's clock. A negative number sets it behind. */
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
