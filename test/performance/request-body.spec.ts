/** A request with a body leaves no objects for a major garbage collection (decision 0026). */
import { expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';

/** Maximum bytes per request. A leaked body would keep its request, about 10,000 bytes. */
const MAX_BYTES = 200;

it('a request body is freed by a minor garbage collection', () => {
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [resolve('test/support/bodies-left.mjs'), resolve('dist/proxy/calls/request-body.js')],
    { encoding: 'utf8' },
  );
  expect(stderr).toBe('');
  expect(Number(stdout.trim() || NaN)).toBeLessThan(MAX_BYTES);
});
