/** `npm test` tells its reader how far it is, how long it will take, and what it left out and why. */
import { expect, it } from '@jest/globals';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { spawnOwned, temporaryFolder } from './support/processes.js';
import { inWords, progressLine } from './support/progress.js';

/** Runs `test/run.mjs` on a machine where no server is on the PATH and none may be installed. */
async function runBare(args: readonly string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const { TEST_REDIS_URL: _redis, REDIS_URL: _given, CI: _ci, ...env } = process.env;
  // PostgreSQL is found beside the PATH, and is started as another user: that asks for `id`.
  const path = temporaryFolder('bare-path');
  symlinkSync('/usr/bin/id', join(path, 'id'));
  const bare = { ...env, PATH: path, TRAILGATE_TEST_INSTALL: '0' };
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
