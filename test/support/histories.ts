/**
 * Settings of tests that run random histories. TRAILGATE_TEST_HISTORIES is the number of histories (default 200), and
 * TRAILGATE_TEST_SEED repeats a run. The seed is always printed, so that a rare failure can be reproduced.
 */
import { writeSync } from 'node:fs';
import fc from 'fast-check';
import { countsByWindow, type NamedCounts } from './quotas.js';
import { WINDOWS } from '../../src/platform/quotas/windows.js';

const HISTORIES = Number(process.env['TRAILGATE_TEST_HISTORIES'] ?? 200);

/** Parameters for `fc.assert`. */
export const RUNS = {
  numRuns: HISTORIES,
  seed: Number(process.env['TRAILGATE_TEST_SEED'] ?? Math.floor(Math.random() * 0x7fff_ffff)),
};

/** Timeout in ms that only catches hangs. On a busy machine, a history takes ten times as long. */
export const HISTORIES_TIMEOUT_MS = 120_000 + HISTORIES * 1_000;

/**
 * Prints the number of histories and the seed. Each file calls it once.
 * @param what the subject of the test
 */
export function announceHistories(what: string): void {
  writeSync(2, `${what}: ${RUNS.numRuns} histories, TRAILGATE_TEST_SEED=${RUNS.seed}\n`);
}

/** Returns an arbitrary with a limit for each quota window. */
export function namedLimits(limit: fc.Arbitrary<number>): fc.Arbitrary<NamedCounts> {
  return fc.tuple(...WINDOWS.map(() => limit)).map(countsByWindow);
}
