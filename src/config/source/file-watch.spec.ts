import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { eventually, temporaryFolder } from '../../../test/support/processes.js';
import { FileWatch } from './file-watch.js';

const CHECK_INTERVAL_MS = 20;
const SETTLE_MS = 50;
/** Longer than the settle time and several checks. */
const LONG_MS = 200;

let folder: string;
let file: string;
let changes: number;
let watch: FileWatch;

beforeEach(() => {
  folder = temporaryFolder('watch');
  file = join(folder, 'a.yaml');
  changes = 0;
  watch = new FileWatch(() => void changes++, CHECK_INTERVAL_MS, SETTLE_MS);
});
afterEach(() => {
  watch.stop();
  rmSync(folder, { recursive: true });
});

it('reports a new file once, and its removal once', async () => {
  const other = join(folder, 'b.yaml');
  writeFileSync(other, 'b');
  await watch.watchFiles([other, file]);
  writeFileSync(file, 'a');
  writeFileSync(other, 'bb');
  await eventually('they have come', () => changes === 1);
  rmSync(file);
  await eventually('it has gone', () => changes === 2);
});

it('reports a file once if it was written while its follower was reading it', async () => {
  const beginMs = Date.now() - 1_000;
  writeFileSync(file, 'a');
  watch.watchFiles([file], beginMs);
  await eventually('it is read again', () => changes === 1);
  await sleep(LONG_MS);
  expect(changes).toBe(1);
});

it('does not report a file that is unchanged or still missing', async () => {
  writeFileSync(file, 'a');
  watch.watchFiles([file, join(folder, 'missing.yaml')], Date.now() + 60_000);
  await sleep(LONG_MS);
  expect(changes).toBe(0);
});

it('does not report files that are no longer followed, or any file after stop', async () => {
  writeFileSync(file, 'a');
  await watch.watchFiles([file]);
  await watch.watchFiles([join(folder, 'b.yaml')]);
  writeFileSync(file, 'aa');
  await sleep(LONG_MS);
  writeFileSync(join(folder, 'b.yaml'), 'b');
  await eventually('the other one is noticed', () => changes === 1);
  watch.stop();
  writeFileSync(join(folder, 'b.yaml'), 'bb');
  await sleep(LONG_MS);
  expect(changes).toBe(1);
});
