/** `trailgate bench` sends requests at the given rate, and counts a stall as latency of all requests that were due. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startBackend, type Backend } from '../support/backend.js';
import { runTrailgate, startTrailgate, type RunningTrailgate } from '../support/program.js';
import { freePort } from '../support/processes.js';
import type { BenchResult } from '../../src/program/commands/bench-command.js';

let backend: Backend;
let gateway: RunningTrailgate;
/** Time until which the backend delays its responses, in milliseconds. */
let stallUntilMs = 0;

beforeAll(async () => {
  backend = await startBackend((_request, response) => {
    const waitMs = Math.max(0, stallUntilMs - performance.now());
    setTimeout(() => response.setHeader('content-type', 'application/json').end('{}'), waitMs);
  });
  gateway = await startTrailgate({ backend: backend.url });
});
afterAll(async () => {
  await gateway?.stop();
  await backend?.stop();
});

const bench = async (key: string, ...args: string[]) => {
  const url = `${gateway.gatewayUrl}/api/v1/customers`;
  const env = { TRAILGATE_BENCH_KEY: key };
  const { stdout, code } = await runTrailgate(['bench', '--against', url, ...args, '--json'], { env });
  return { ...(JSON.parse(stdout) as BenchResult), code };
};

it('bench sends each request once with the key, over the given time', async () => {
  const { key } = await gateway.admin.newKey('unlimited');
  const before = backend.requests.length;
  const result = await bench(key.secret, '--rate', '100', '--seconds', '2');
  expect(result).toMatchObject({ sent: 200, statuses: { 200: 200 }, failures: {}, code: 0 });
  expect(result.seconds).toBeGreaterThan(1.9);
  expect(backend.requests.length - before).toBe(200);
});

it('bench counts a stall as latency of the requests that were due, also without a free connection', async () => {
  const { key } = await gateway.admin.newKey('unlimited');
  stallUntilMs = performance.now() + 3_000;
  const result = await bench(key.secret, '--rate', '100', '--seconds', '3', '--connections', '2');
  expect(result.statuses).toEqual({ 200: 300 });
  // Half of the requests were due in the first half of the stall, whenever in the stall the command began.
  expect(result.latency['p90']).toBeGreaterThan(result.latency['p50']!);
  expect(result.latency['max']).toBeGreaterThan(500);
});

it('bench counts refusals by status', async () => {
  const { statuses, code } = await bench('tg_live_no_such_key', '--rate', '10', '--seconds', '1');
  expect({ statuses, code }).toEqual({ statuses: { 401: 10 }, code: 0 });
});

it('bench reports why no response arrives, and exits with 1', async () => {
  const url = `http://127.0.0.1:${await freePort()}/api/v1/customers`;
  const { stdout, code } = await runTrailgate(['bench', '--against', url, '--rate', '5', '--seconds', '1']);
  expect(code).toBe(1);
  expect(stdout).toContain('ECONNREFUSED  5');
  expect(stdout).toContain('no responses');
});
