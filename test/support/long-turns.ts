/** Measures the longest turn of the program's event loop in CPU time, which is the same on busy and idle machines. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { preload, temporaryFolder } from './processes.js';

/** LongTurns records the long turns of a program. Start the program with `env`. */
export class LongTurns {
  private readonly path = join(temporaryFolder('turns'), 'turns');
  /** Environment that the program must be started with. */
  readonly env: Readonly<Record<string, string>> = {
    ...preload('long-turns-of-program.mjs'),
    TRAILGATE_TEST_TURNS: this.path,
  };

  constructor() {
    writeFileSync(this.path, '');
  }

  /**
   * Returns the longest turn in milliseconds between two times of `Date.now()`. Returns 0 if no turn was long enough to
   * be recorded.
   */
  longest(fromMs: number, toMs: number): number {
    const turns = readFileSync(this.path, 'utf8').split('\n').slice(0, -1);
    return turns
      .map((line) => line.split(' ').map(Number))
      .filter(([atMs = 0]) => atMs >= fromMs && atMs <= toMs)
      .reduce((longest, [, ms = 0]) => Math.max(longest, ms), 0);
  }
}
