/** The minute limit is a sliding window. No 60 seconds admit more than the limit, and refused requests cost nothing. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startBackend, type Backend } from '../support/backend.js';
import { reportSkipped } from '../support/describe-with.js';
import { startTrailgate } from '../support/program.js';
import { Caller } from '../support/rate-limit.js';
import { redisIsAvailable } from '../support/servers.js';
import { acquireTrailgate } from '../support/shared-program.js';
import { TurnedClock } from '../support/turned-clock.js';

const LIMIT = 20;
const PLANS = { edge: { key: { minute: LIMIT } }, refused: { key: { minute: 5 }, account: { month: 10_000 } } };
const MINUTE_MS = 60_000;
const STEP_MS = 500;

const STORES = redisIsAvailable() ? ['the process', 'Redis'] : ['the process'];
if (!redisIsAvailable()) reportSkipped('refusals of a minute, in Redis', 'needs Redis');

let backend: Backend;
/** Times at which requests reached the backend, on the test clock. */
let arrivals: number[] = [];
let nowMs = Date.parse('2026-11-12T10:00:00Z');
beforeAll(async () => {
  backend = await startBackend((_request, response) => {
    arrivals.push(nowMs);
    response.end('{}');
  });
});
afterAll(() => backend.stop());

it.each(STORES)('requests refused by the minute limit do not count in the month, in %s', async (store) => {
  const options = { backend: backend.url, config: { plans: PLANS } };
  const gateway = await acquireTrailgate({ ...options, redis: store === 'Redis' });
  const { key } = await gateway.admin.newKey('refused');
  const caller = new Caller(gateway.gatewayUrl, key.secret);
  arrivals = [];
  expect(await caller.burst(1_005)).toEqual({ 200: 5, 429: 1_000 });
  expect(await caller.used()).toEqual({ 'key-minute': 5, 'account-month': 5 });
  expect(arrivals).toHaveLength(5);
  caller.close();
  await gateway.stop();
});

// Uses counters in the process, because Redis scripts use the server's clock. The histories of test/contract cover
// Redis.
it('no 60 seconds admit more than the limit, with bursts and steady calls across the edge of a minute', async () => {
  const clock = new TurnedClock();
  clock.stopAt(nowMs);
  const gateway = await startTrailgate({ backend: backend.url, config: { plans: PLANS }, env: clock.env });
  const { key } = await gateway.admin.newKey('edge');
  const caller = new Caller(gateway.gatewayUrl, key.secret);
  arrivals = [];
  await caller.burst(2 * LIMIT);
  for (const endMs = nowMs + MINUTE_MS + 3_000; nowMs < endMs;) {
    clock.stopAt((nowMs += STEP_MS));
    await caller.burst(2);
  }
  await caller.burst(2 * LIMIT);
  caller.close();
  await gateway.stop();
  clock.close();
  const spansOfOneTooMany = arrivals.slice(LIMIT).map((last, first) => last - (arrivals[first] ?? 0));
  expect(Math.min(...spansOfOneTooMany)).toBeGreaterThanOrEqual(MINUTE_MS);
  // The window slides. The full limit is available again a minute after the first burst.
  expect(arrivals).toHaveLength(2 * LIMIT);
  expect(Math.min(...spansOfOneTooMany)).toBeLessThan(MINUTE_MS + 2_500);
});
