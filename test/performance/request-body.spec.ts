/** A request with a body leaves nothing behind that only a full collection would find (decision 0026). */
import { expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';

/** A body that is kept takes its request along, some 10,000. */
const MAX_BYTES = 200;

it('a body is gone with its request when the young objects are collected', () => {
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [resolve('test/support/bodies-left.mjs'), resolve('dist/proxy/calls/request-body.js')],
    { encoding: 'utf8' },
  );
  expect(stderr).toBe('');
  expect(Number(stdout.trim() || NaN)).toBeLessThan(MAX_BYTES);
});
