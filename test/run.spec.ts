/** `npm test` tells its reader how far it is, how long it will take, and what it left out and why. */
import { describe, expect, it } from '@jest/globals';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { spawnOwned, temporaryFolder } from './support/processes.js';
import { inWords, progressLine } from './support/progress.js';
import { filesInTime, filesToTryAgain, orderOf, summarise, type JestRun } from './support/run-summary.js';

/** Runs `test/run.mjs` on a machine where no server is on the PATH and none may be installed. */
async function runBare(
  args: readonly string[],
  more: Readonly<Record<string, string>> = {},
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const {
    TEST_REDIS_URL: _redis,
    REDIS_URL: _given,
    CI: _ci,
    TRAILGATE_TEST_DEADLINE_MS: _deadline,
    ...env
  } = process.env;
  // PostgreSQL is found beside the PATH, and is started as another user: that asks for `id`.
  const path = temporaryFolder('bare-path');
  symlinkSync('/usr/bin/id', join(path, 'id'));
  const bare = { ...env, PATH: path, TRAILGATE_TEST_INSTALL: '0', ...more };
  const run = spawnOwned(process.execPath, ['test/run.mjs', ...args], { env: bare });
  run.child.ref();
  const output = { stdout: '', stderr: '' };
  run.child.stdout?.on('data', (chunk) => (output.stdout += chunk));
  run.child.stderr?.on('data', (chunk) => (output.stderr += chunk));
  const closed = new Promise((done) => run.child.once('close', done));
  const { code } = await run.exited;
  await closed;
  return { code, ...output };
}

it('begins no file once its time is over, and names each that it left out', async () => {
  const deadline = { TRAILGATE_TEST_DEADLINE_MS: String(Date.now()) };
  const { code, stdout, stderr } = await runBare(['src/limits/breaker.spec.ts'], deadline);
  expect(stderr).toContain('Skipped 1: no time left.\nNo time left for src/limits/breaker.spec.ts.\n');
  expect(stdout).toBe('0 passed, 1 failed, 1 skipped\n');
  expect(code).toBe(1);
});

it('runs what stands beside the source first, and each day another tenth of the rest last', () => {
  expect(orderOf('src/limits/breaker.spec.ts', 3)).toBe(0);
  const files = Array.from({ length: 300 }, (_, index) => `test/e2e/file-${index}.spec.ts`);
  const lastOn = (day?: number) => files.filter((file) => orderOf(file, day) === 2);
  expect(lastOn()).toEqual([]);
  const days = Array.from({ length: 10 }, (_, day) => lastOn(day));
  expect(days.flat().toSorted()).toEqual(files.toSorted());
  for (const last of days) expect(last.length).toBeLessThan(files.length / 5);
});

it('names what is missing and how to get it, and counts what was skipped for it', async () => {
  const { code, stdout, stderr } = await runBare(['test/contract/usage-sweep.spec.ts', 'src/limits/breaker.spec.ts']);
  expect(stderr).toContain('apt-get install redis-server');
  expect(stderr).toMatch(/^Skipped \d+: needs Redis\.$/m);
  expect(stdout.trimEnd().split('\n').at(-1)).toMatch(/^\d+ passed, 0 failed, \d+ skipped$/);
  expect(code).toBe(0);
});

it.each([
  [{ done: 3, total: 100, failed: 0, goneMs: 9_000, laterMs: 0 }, '-- 3 of 100 files, 0 failed; 9 s gone'],
  [
    { done: 50, total: 100, failed: 1, goneMs: 120_000, laterMs: 60_000 },
    '-- 50 of 100 files, 1 failed; 2 min gone, about 3 min to go',
  ],
])('says how far it is, and what is to come at the pace so far', (run, line) => {
  expect(progressLine(run)).toBe(line);
});

it.each([
  [999, '1 s'],
  [89_000, '89 s'],
  [600_000, '10 min'],
])('says %d ms as %s', (ms, words) => expect(inWords(ms)).toBe(words));

/** A pass in which each file has a test for each of the statuses. */
function pass(files: Readonly<Record<string, readonly string[]>>, run: Partial<JestRun> = {}): JestRun {
  const testResults = Object.entries(files).map(([name, statuses]) => ({
    name,
    status: statuses.length === 0 || statuses.includes('failed') ? 'failed' : 'passed',
    assertionResults: statuses.map((status, index) => ({ status, fullName: `test ${index + 1}` })),
  }));
  const isGood = testResults.every(({ status }) => status === 'passed');
  return { code: isGood ? 0 : 1, leaked: false, results: { testResults }, ...run };
}

describe('the last line', () => {
  const FLAKY = pass({ a: ['passed'], b: ['passed', 'failed'] });

  it.each<{ what: string; line: string; runs: JestRun[]; again?: JestRun }>([
    {
      what: 'all is well',
      line: '3 passed, 0 failed, 1 skipped',
      runs: [pass({ a: ['passed', 'pending'], b: ['passed', 'passed'] })],
    },
    { what: 'a test failed', line: '2 passed, 1 failed', runs: [FLAKY] },
    { what: 'it failed again', line: '2 passed, 1 failed', runs: [FLAKY], again: pass({ b: ['passed', 'failed'] }) },
    {
      what: 'another one failed then',
      line: '2 passed, 1 failed',
      runs: [FLAKY],
      again: pass({ b: ['failed', 'passed'] }),
    },
    {
      what: 'it passed then',
      line: '3 passed, 0 failed, 1 of them at the second try',
      runs: [FLAKY],
      again: pass({ b: ['passed', 'passed'] }),
    },
    { what: 'a file could not run', line: '1 passed, 1 failed', runs: [pass({ a: ['passed'], b: [] })] },
    {
      what: 'Jest did not come so far',
      line: '1 passed, 1 failed',
      runs: [pass({ a: ['passed'] }), { ...FLAKY, results: null }],
    },
    { what: 'nor at the second try', line: '2 passed, 1 failed', runs: [FLAKY], again: { ...FLAKY, results: null } },
    {
      what: 'a test left something open',
      line: '1 passed, 1 failed',
      runs: [pass({ a: ['passed'] }, { leaked: true })],
    },
    { what: 'Jest failed by itself', line: '1 passed, 1 failed', runs: [pass({ a: ['passed'] }, { code: 1 })] },
    {
      what: 'Jest failed by itself at the second try',
      line: '3 passed, 1 failed',
      runs: [FLAKY],
      again: pass({ b: ['passed', 'passed'] }, { code: 1 }),
    },
    { what: 'no test ran', line: '0 passed, 1 failed', runs: [pass({})] },
  ])('where $what: $line', ({ line, runs, again }) => {
    const summary = summarise(runs, again);
    expect(summary.line).toBe(line);
    expect(summary.exitCode).toBe(line.includes(' 0 failed') ? 0 : 1);
  });

  it('has the names of what needed a second try above it', () => {
    expect(summarise([FLAKY], pass({ b: ['passed', 'passed'] })).secondTries).toEqual(['b: test 2']);
  });
});

describe('a second try', () => {
  it('is for few files, and not where Jest itself failed', () => {
    const failing = (count: number) =>
      pass(Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, ['failed']])));
    expect(filesToTryAgain([pass({ a: ['passed'] }), failing(3)])).toEqual(['f0', 'f1', 'f2']);
    expect(filesToTryAgain([failing(4)])).toEqual([]);
    expect(filesToTryAgain([failing(1), { code: null, leaked: false, results: null }])).toEqual([]);
    expect(filesToTryAgain([{ ...failing(1), leaked: true }])).toEqual([]);
  });

  it('leaves out files for which there is no time, other ones each day, and says which', () => {
    const files = ['c', 'a', 'b', 'd'];
    const inTime = (leftMs: number, day = 0) => filesInTime(files, { leftMs, eachMs: 10, day });
    expect(inTime(40)).toEqual({ run: files, leftOut: [] });
    expect(inTime(39)).toEqual({ run: ['a', 'b', 'c'], leftOut: ['d'] });
    expect(inTime(25, 3)).toEqual({ run: ['d', 'a'], leftOut: ['b', 'c'] });
    expect(inTime(-1).run).toEqual([]);
  });
});
