/** The health check of the Docker image distinguishes a running gateway from a stopped one. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { freePort } from '../support/processes.js';
import { startTrailgate } from '../support/program.js';

const [, json = ''] = /HEALTHCHECK [^\n]*\\\n\s+CMD (\[.*\])/.exec(readFileSync('Dockerfile', 'utf8')) ?? [];
const [file = '', ...args] = JSON.parse(json) as string[];

/** Runs the check as Docker does. */
function exitCode(port: number): number | null {
  const env = { PATH: process.env['PATH'] ?? '', TRAILGATE_ADMIN_PORT: String(port) };
  return spawnSync(file, args, { env, timeout: 10_000 }).status;
}

it('the image health check succeeds while the gateway runs, and fails before and after', async () => {
  const port = await freePort();
  expect(exitCode(port)).not.toBe(0);
  const gateway = await startTrailgate({ env: { TRAILGATE_ADMIN_PORT: String(port) } });
  expect(exitCode(port)).toBe(0);
  await gateway.stop();
  expect(exitCode(port)).not.toBe(0);
});
