/**
 * How many random histories a run plays, and from which seed: TRAILGATE_TEST_HISTORIES says how many (200), TRAILGATE_TEST_SEED repeats a
 * run. The seed is printed whatever comes out, so that a failure that is not seen twice can still be had again.
 */
import { writeSync } from 'node:fs';
import fc from 'fast-check';
import { named, type NamedCounts } from './quotas.js';
import { WINDOWS } from '../../src/platform/quotas/windows.js';

const HISTORIES = Number(process.env['TRAILGATE_TEST_HISTORIES'] ?? 200);

/** For `fc.assert`. */
export const RUNS = {
  numRuns: HISTORIES,
  seed: Number(process.env['TRAILGATE_TEST_SEED'] ?? Math.floor(Math.random() * 0x7fff_ffff)),
};

/** Against hanging only: on a busy machine a history takes ten times as long. */
export const HISTORIES_TIMEOUT_MS = 120_000 + HISTORIES * 1_000;

/** Says what is played; called once by each file. */
export function announce(what: string): void {
  writeSync(2, `${what}: ${RUNS.numRuns} histories, TRAILGATE_TEST_SEED=${RUNS.seed}\n`);
}

/** A limit for each window. */
export function namedLimits(limit: fc.Arbitrary<number>): fc.Arbitrary<NamedCounts> {
  return fc.tuple(...WINDOWS.map(() => limit)).map(named);
}
