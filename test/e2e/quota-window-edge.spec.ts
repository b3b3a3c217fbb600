/** A minute slides: no 60 seconds hold more than the limit, wherever they begin, and refusals cost nothing anywhere. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startBackend, type Backend } from '../support/backend.js';
import { reportSkipped } from '../support/describe-with.js';
import { sleep } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';
import { Caller } from '../support/rate-limit.js';
import { sharedRedisUrl } from '../support/redis.js';
import { redisIsAvailable } from '../support/servers.js';

const LIMIT = 20;
const PLANS = { edge: { key: { minute: LIMIT } }, refused: { key: { minute: 5 }, account: { month: 10_000 } } };
/** Requests travel to the backend for different times: what was decided 60 s apart may arrive a little closer. */
const TRAVEL_MS = 250;

const STORES = redisIsAvailable() ? ['the process', 'Redis'] : ['the process'];
if (!redisIsAvailable()) reportSkipped('the edge of a minute, in Redis', 'needs Redis');

/** A backend that remembers when each key's requests came. */
async function timingBackend(arrivals: Map<string, number[]>): Promise<Backend> {
  return startBackend((request, response) => {
    const keyId = String(request.headers['x-api-key-id']);
    arrivals.set(keyId, [...(arrivals.get(keyId) ?? []), performance.now()]);
    response.end('{}');
  });
}

let backend: Backend;
const arrivals = new Map<string, number[]>();
const gateways = new Map<string, RunningTrailgate>();

beforeAll(async () => {
  backend = await timingBackend(arrivals);
  for (const store of STORES) {
    const env: Record<string, string> = store === 'Redis' ? { REDIS_URL: await sharedRedisUrl() } : {};
    gateways.set(store, await startTrailgate({ backend: backend.url, config: { plans: PLANS }, env }));
  }
});
afterAll(async () => {
  await Promise.all([...gateways.values()].map((gateway) => gateway.stop()));
  await backend.stop();
});

it.each(STORES)('a thousand requests that the minute refused leave the month where it was, in %s', async (store) => {
  const gateway = gateways.get(store)!;
  const { key } = await gateway.admin.newKey('refused');
  const caller = new Caller(gateway.gatewayUrl, key.secret);
  expect(await caller.burst(1_005)).toEqual({ 200: 5, 429: 1_000 });
  expect(await caller.used()).toEqual({ 'key-minute': 5, 'account-month': 5 });
  expect(arrivals.get(key.id)).toHaveLength(5);
  caller.close();
});

/** A burst of twice the limit, then two requests a quarter of a second until the second after a minute has passed. */
async function burstAndGoOn(gateway: RunningTrailgate): Promise<number[]> {
  const { key } = await gateway.admin.newKey('edge');
  const caller = new Caller(gateway.gatewayUrl, key.secret);
  const untilMs = performance.now() + 63_000;
  await caller.burst(2 * LIMIT);
  while (performance.now() < untilMs) {
    await caller.burst(2);
    await sleep(250);
  }
  await caller.burst(2 * LIMIT);
  caller.close();
  return arrivals.get(key.id) ?? [];
}

it('a burst of twice the limit and steady calls over the edge of a minute: no 60 seconds hold more than the limit', async () => {
  const admitted = await Promise.all([...gateways.values()].map(burstAndGoOn));
  for (const instants of admitted) {
    const sorted = instants.toSorted((a, b) => a - b);
    const spansOfOneTooMany = sorted.slice(LIMIT).map((last, first) => last - (sorted[first] ?? 0));
    expect(Math.min(...spansOfOneTooMany)).toBeGreaterThan(60_000 - TRAVEL_MS);
    // And it does slide: a minute after the first burst there is room for a whole limit again.
    expect(instants).toHaveLength(2 * LIMIT);
    expect(Math.min(...spansOfOneTooMany)).toBeLessThan(62_500);
  }
});
