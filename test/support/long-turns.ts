/**
 * Measures the longest uninterrupted work of the program's event loop, in processor time. It is the same on busy and
 * idle machines.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { preload, temporaryFolder } from './processes.js';

export class LongTurns {
  private readonly path = join(temporaryFolder('turns'), 'turns');
  /** Environment of the program that is watched. */
  readonly env: Readonly<Record<string, string>> = {
    ...preload('long-turns-of-program.mjs'),
    TRAILGATE_TEST_TURNS: this.path,
  };

  constructor() {
    writeFileSync(this.path, '');
  }

  /** The longest in a span of `Date.now()`, in milliseconds; 0 where none was worth a note. */
  longest(fromMs: number, toMs: number): number {
    const turns = readFileSync(this.path, 'utf8').split('\n').slice(0, -1);
    return turns
      .map((line) => line.split(' ').map(Number))
      .filter(([atMs = 0]) => atMs >= fromMs && atMs <= toMs)
      .reduce((longest, [, ms = 0]) => Math.max(longest, ms), 0);
  }
}
