/**
 * Bytes that each step of a plain request allocates, so that an increase can be attributed. The figures are almost the
 * same on every machine. Limits are slightly above the current figures. Lower them after an improvement, and raise them
 * only with a reason.
 */
import { beforeAll, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';

/**
 * Maximum bytes by step. The steps are in test/bench/steps-list.mjs. `call-emits` varies by 4 % between runs, because
 * the garbage collector moves its batches at different moments. Its limit has that margin.
 */
const LIMITS = {
  'request-read': 740,
  begin: 520,
  route: 96,
  'route-parameter': 220,
  key: 420,
  scope: 32,
  decision: 680,
  'redis-alone': 3_250,
  'redis-gathered': 850,
  'quota-fields': 1_000,
  'request-headers': 1_820,
  'answer-parsed': 400,
  'response-headers': 400,
  call: 1_000,
  'call-emits': 7_300,
  end: 40,
  'end-kept': 80,
  'end-logged': 2_380,
  error: 5_350,
  'refused-no-key': 130,
  'refused-unknown': 540,
  'refused-scope': 540,
  'refused-route': 760,
  'refused-minute': 1_330,
};
const ATTEMPTS = 3;

let steps: Record<string, number>;

/** Takes the lowest value of several runs, because an unfinished compiler can only add bytes. */
beforeAll(() => {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const script = resolve('test/bench/run.mjs');
    const { stdout, stderr } = spawnSync(process.execPath, [script, 'steps', '--json', '--no-build'], {
      encoding: 'utf8',
    });
    if (stdout === '') throw new Error(stderr);
    const figures = JSON.parse(stdout) as Record<string, number>;
    steps = Object.fromEntries(
      Object.entries(figures).map(([id, bytes]) => [id, Math.min(bytes, steps?.[id] ?? bytes)]),
    );
    if (Object.entries(LIMITS).every(([id, limit]) => (steps[id] ?? 0) <= limit)) break;
  }
});

it('every step with a limit is measured, and no other', () => {
  expect(Object.keys(steps).toSorted()).toEqual(Object.keys(LIMITS).toSorted());
});

it.each(Object.entries(LIMITS))('%s allocates at most %d bytes', (id, limit) => {
  expect(steps[id]).toBeLessThanOrEqual(limit);
});

it('no limit is more than twice the measured value, or an increase would go unnoticed', () => {
  const needed = Object.entries(LIMITS).filter(([id, limit]) => limit > 100 && (steps[id] ?? 0) < limit / 2);
  expect(needed).toEqual([]);
});
