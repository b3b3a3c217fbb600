/** `npm test` reports its progress, its remaining time, and which tests it skipped and why. */
import { describe, expect, it } from '@jest/globals';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { spawnOwned, temporaryFolder } from './support/processes.js';
import { inWords, progressLine } from './support/progress.js';
import { MAX_QUARANTINED, summarize, type JestRun, type Quarantined } from './support/run-summary.js';
import { affectedSpecs } from './support/affected.js';

/** Runs `test/run.mjs` without servers on the PATH and without permission to install any. */
async function runBare(
  args: readonly string[],
  more: Readonly<Record<string, string>> = {},
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const { TEST_REDIS_URL: _redis, REDIS_URL: _given, CI: _ci, ...env } = process.env;
  // Keeps `id` on the PATH. PostgreSQL is found outside the PATH, and starting it as another user needs `id`.
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

it('names a missing server and how to install it, and counts the skipped tests', async () => {
  const { code, stdout, stderr } = await runBare(['test/contract/usage-sweep.spec.ts', 'src/platform/breaker.spec.ts']);
  expect(stderr).toContain('apt-get install redis-server');
  expect(stderr).toMatch(/^Skipped \d+: needs Redis\.$/m);
  expect(stdout.trimEnd().split('\n').at(-1)).toMatch(/^\d+ passed, 0 failed, \d+ skipped$/);
  expect(code).toBe(0);
});

it('keeps the results of the files that have ended when the time is up', async () => {
  const folder = temporaryFolder('stopped-run');
  symlinkSync(resolve('test'), join(folder, 'test'));
  const write = (name: string, text: string): void => writeFileSync(join(folder, `${name}.check.js`), text);
  write('quick', "it('passes', () => {}); it('fails', () => expect(1).toBe(2));");
  write('endless', "it('never ends', () => new Promise(() => {}), 60_000);");
  const config = JSON.stringify({ rootDir: folder, testMatch: ['<rootDir>/*.check.js'], transform: {} });
  const { code, stdout, stderr } = await runBare(['-w', '2', '--config', config], { TRAILGATE_TEST_SECONDS: '8' });
  expect(stderr).toContain('The run took too long.');
  expect(stdout).toMatch(/^Failed: .*quick\.check\.js: fails: /m);
  expect(stdout.trimEnd().split('\n').at(-1)).toBe('1 passed, 1 failed');
  expect(code).toBe(1);
});

it.each([
  [{ done: 3, total: 100, failed: 0, goneMs: 9_000 }, '-- 3 of 100 files, 0 failed; 9 s gone'],
  [{ done: 50, total: 100, failed: 1, goneMs: 120_000 }, '-- 50 of 100 files, 1 failed; 2 min gone, about 2 min to go'],
])('reports progress, and the remaining time at the current pace', (run, line) => {
  expect(progressLine(run)).toBe(line);
});

it.each([
  [999, '1 s'],
  [89_000, '89 s'],
  [600_000, '10 min'],
])('formats %d ms as %s', (ms, words) => expect(inWords(ms)).toBe(words));

/** Returns a test run in which each file has one test for each of its statuses. */
function jestRun(files: Readonly<Record<string, readonly string[]>>, run: Partial<JestRun> = {}): JestRun {
  const testResults = Object.entries(files).map(([name, statuses]) => ({
    name: `/project/${name}`,
    status: statuses.length === 0 || statuses.includes('failed') ? 'failed' : 'passed',
    assertionResults: statuses.map((status, index) => ({ status, fullName: `test ${index + 1}` })),
  }));
  const isGood = testResults.every(({ status }) => status === 'passed');
  const results = { testResults, numTotalTestSuites: testResults.length };
  return { code: isGood ? 0 : 1, leaked: false, results, ...run };
}

const inQuarantine = (file: string, test: string): Quarantined => ({
  file,
  test,
  reason: 'a race',
  since: '2026-11-26',
});

describe('the summary line', () => {
  const GOOD = jestRun({ a: ['passed'] });
  const FLAKY = jestRun({ a: ['passed'], b: ['passed', 'failed'] });
  const FILES = ['/project/a', '/project/b'];

  it.each<{ what: string; line: string; run: JestRun; files?: string[]; quarantine?: Quarantined[] }>([
    {
      what: 'all is well',
      line: '3 passed, 0 failed, 1 skipped',
      run: jestRun({ a: ['passed', 'pending'], b: ['passed', 'passed'] }),
      files: FILES,
    },
    { what: 'a test failed', line: '2 passed, 1 failed', run: FLAKY },
    { what: 'a file could not run', line: '1 passed, 1 failed', run: jestRun({ a: ['passed'], b: [] }) },
    { what: 'a file has no result', line: '1 passed, 1 failed', run: GOOD, files: FILES },
    {
      what: 'a file that Jest chose has no result',
      line: '1 passed, 1 failed',
      run: { ...GOOD, results: { testResults: GOOD.results?.testResults ?? [], numTotalTestSuites: 2 } },
    },
    { what: 'Jest wrote nothing', line: '0 passed, 2 failed', run: { ...FLAKY, results: null }, files: FILES },
    { what: 'a test left something open', line: '1 passed, 1 failed', run: { ...GOOD, leaked: true } },
    {
      what: 'the run was stopped for its time',
      line: '1 passed, 1 failed',
      run: { ...GOOD, code: null, leaked: true },
      files: FILES,
    },
    { what: 'Jest failed by itself', line: '1 passed, 1 failed', run: { ...GOOD, code: 1 } },
    { what: 'no test ran', line: '0 passed, 1 failed', run: jestRun({}) },
    {
      what: 'a test in quarantine failed',
      line: '2 passed, 0 failed, 1 in quarantine failed',
      run: FLAKY,
      quarantine: [inQuarantine('b', 'test 2')],
    },
    {
      what: 'another one of the same file failed',
      line: '2 passed, 1 failed',
      run: FLAKY,
      quarantine: [inQuarantine('b', 'test 1')],
    },
    {
      what: 'too many are in quarantine',
      line: '1 passed, 1 failed',
      run: GOOD,
      quarantine: Array.from({ length: MAX_QUARANTINED + 1 }, (_, index) => inQuarantine('c', `test ${index}`)),
    },
  ])('when $what: $line', ({ line, run, ...options }) => {
    const summary = summarize(run, options);
    expect(summary.line).toBe(line);
    expect(summary.exitCode).toBe(line.includes(' 0 failed') ? 0 : 1);
  });

  it('comes with the names of files without a result', () => {
    expect(summarize(GOOD, { files: FILES }).withoutResult).toEqual(['/project/b']);
  });
});

describe('specs affected by the working tree', () => {
  const ROOT = process.cwd();
  const affected = (changed: string[], roomMs = 60_000, durations = {}) =>
    affectedSpecs(ROOT, changed, { durations, roomMs });

  it('start with the spec of the changed file, and include e2e specs about it', () => {
    const { run } = affected(['src/platform/breaker.ts']);
    expect(run[0]).toBe('src/platform/breaker.spec.ts');
    expect(affected(['test/e2e/errors.spec.ts']).run).toEqual(['test/e2e/errors.spec.ts']);
    expect(affected(['src/webhooks/deliveries/lane.ts'], Infinity).run).toContain('test/e2e/webhook-crashes.spec.ts');
  });

  it('end at the time limit, and the others are listed as left out', () => {
    const { run, left } = affected(['src/platform/breaker.ts'], 1, { 'src/platform/breaker.spec.ts': 1 });
    expect(run).toEqual(['src/platform/breaker.spec.ts']);
    expect(left.length).toBeGreaterThan(0);
  });
});
