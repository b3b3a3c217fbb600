/** Redis freezes, dies or is emptied. Plans follow `onRedisLoss` without delay, and the gateway recovers by itself. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { connectRedis, redisReady } from '../../src/stores/redis/connect.js';
import { json, startBackend, type Backend } from '../support/backend.js';
import { describeWithOwnRedis } from '../support/describe-with.js';
import type { Usage } from '../support/admin.js';
import { openRequest, send, type Answer } from '../support/http.js';
import { quietMsSince } from '../support/machine-time.js';
import { eventually, sleep } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';
import { Caller, limitFieldsOf, policiesOf } from '../support/rate-limit.js';
import { startRedis, type RedisServer } from '../support/redis.js';

const FLUSH_MS = 200;
const PLANS = {
  local: { key: { minute: 30 }, account: { month: 1_000 }, onRedisLoss: 'local' },
  open: { key: { minute: 3 }, onRedisLoss: 'open' },
  closed: { key: { minute: 1_000 }, onRedisLoss: 'closed' },
  month: { account: { month: 100 } },
};
/** Deadline of a quota decision, in milliseconds. Without a circuit breaker every request would wait this long. */
const DEADLINE_MS = 50;

let backend: Backend;
let redis: RedisServer;
let gateway: RunningTrailgate;
const callers: Caller[] = [];

async function callerOn(plan: keyof typeof PLANS): Promise<Caller> {
  const { key } = await gateway.admin.newKey(plan);
  const caller = new Caller(gateway.gatewayUrl, key.secret);
  callers.push(caller);
  return caller;
}

/** Returns the value of a metric that has no labels, or only `store="redis"`. */
async function metric(name: string): Promise<number> {
  const { text } = await send(`${gateway.adminUrl}/metrics`);
  const line = text
    .split('\n')
    .find((each) => each.startsWith(`${name} `) || each.startsWith(`${name}{store="redis"}`));
  return Number(line?.split(' ').at(-1));
}

/** Sends requests one after the other. Expects them to take less than half of all their deadlines. */
async function sendQuickly(caller: Caller, count: number): Promise<Answer[]> {
  const answers: Answer[] = [];
  const startedMs = performance.now();
  for (let request = 0; request < count; request++) answers.push(await caller.get());
  expect(quietMsSince(startedMs)).toBeLessThan((count * DEADLINE_MS) / 2);
  return answers;
}

/** Sends requests until the gateway reports that Redis is lost. */
async function waitForLoss(caller: Caller): Promise<void> {
  await eventually('the loss is detected', async () => {
    await caller.get();
    return (await metric('trailgate_quota_store_up')) === 0;
  });
}

/** Sends requests until Redis decides again. */
async function waitForReturn(caller: Caller): Promise<void> {
  await eventually('Redis decides again', async () => {
    await caller.get();
    return (await metric('trailgate_quota_store_up')) === 1;
  });
}

describeWithOwnRedis('a gateway', () => {
  beforeAll(async () => {
    backend = await startBackend(json({ ok: true }));
    redis = await startRedis();
    gateway = await startTrailgate({
      backend: backend.url,
      config: { plans: PLANS, usage: { flushInterval: `${FLUSH_MS}ms` } },
      env: { REDIS_URL: redis.url },
    });
  });
  afterAll(async () => {
    for (const caller of callers) caller.close();
    await gateway.stop();
    await redis.stop();
    await backend.stop();
  });

  const LOSSES = [
    ['frozen', async () => redis.pause(), async () => redis.resume()],
    ['killed', () => redis.kill9(), () => redis.restart()],
  ] as const;

  describe.each(LOSSES)('with Redis %s', (how, lose, restore) => {
    let local: Caller;
    let open: Caller;
    let closed: Caller;
    beforeEach(async () => {
      [local, open, closed] = await Promise.all([callerOn('local'), callerOn('open'), callerOn('closed')]);
      await waitForReturn(await callerOn('closed'));
    });
    afterEach(restore);

    it('follows onRedisLoss of each plan without delay, and shows the loss in metrics, log and readiness', async () => {
      expect(await local.burst(10)).toEqual({ 200: 10 });
      await Promise.all([open.get(), closed.get()]);
      const lostBefore = gateway.logs().filter(({ event }) => event === 'quota_store_lost').length;
      await lose();
      await waitForLoss(open);

      const onLocal = await sendQuickly(local, 40);
      const statuses = onLocal.map(({ status }) => status);
      expect(statuses.slice(0, 20)).toEqual(statuses.slice(0, 20).map(() => 200));
      expect(statuses.slice(20)).toEqual(statuses.slice(20).map(() => 429));
      expect(policiesOf(onLocal[0]!)).toMatchObject([
        { name: 'key-minute', r: 19 },
        { name: 'account-month', r: 989 },
      ]);
      expect(onLocal.at(-1)?.json()['code']).toBe('rate_limited');

      const onOpen = await sendQuickly(open, 20);
      expect(onOpen.map(({ status }) => status)).toEqual(onOpen.map(() => 200));
      expect(onOpen.flatMap(limitFieldsOf)).toEqual([]);

      const reached = backend.requests.length;
      for (const answer of await sendQuickly(closed, 20)) {
        expect([answer.status, answer.json()['code']]).toEqual([503, 'quota_unavailable']);
        expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/);
        expect(limitFieldsOf(answer)).toEqual([]);
      }
      expect(backend.requests).toHaveLength(reached);

      expect(await metric('trailgate_quota_store_up')).toBe(0);
      expect(await metric('trailgate_quota_store_degraded_seconds_total')).toBeGreaterThan(0);
      expect(gateway.logs().filter(({ event }) => event === 'quota_store_lost')).toHaveLength(lostBefore + 1);
      const ready = await send(`${gateway.adminUrl}/readyz`);
      expect(ready.status).toBe(200);
      expect(ready.text).toContain('Redis is lost');
    });

    it('decides by Redis again after it returns, without a restart', async () => {
      await closed.get();
      await lose();
      await waitForLoss(open);
      expect((await closed.get()).status).toBe(503);
      await restore();
      await waitForReturn(open);
      const answer = await closed.get();
      expect(answer.status).toBe(200);
      expect(policiesOf(answer)[0]).toMatchObject({ name: 'key-minute', q: 1_000 });
      await eventually('quota_store_back is logged', () =>
        gateway.logs().some(({ event }) => event === 'quota_store_back'),
      );
      const degraded = await metric('trailgate_quota_store_degraded_seconds_total');
      await sleep(300);
      expect(await metric('trailgate_quota_store_degraded_seconds_total')).toBe(degraded);
    });

    it('counts what it admitted meanwhile after Redis returns, in the minute and in the month', async () => {
      expect(await local.burst(10)).toEqual({ 200: 10 });
      await sleep(3 * FLUSH_MS);
      await lose();
      await waitForLoss(open);
      const answers = await sendQuickly(local, 20);
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
      await restore();
      await waitForReturn(open);
      const { 'account-month': month } = await local.used();
      // A resumed Redis also counts the calls that it had already received: one for each probe.
      expect(month).toBeGreaterThanOrEqual(30);
      expect(month).toBeLessThanOrEqual(30 + (how === 'frozen' ? 5 : 0));
      // A frozen Redis still has the first ten requests in its minute. A killed one lost them, and restored only the
      // month from the database.
      expect(await local.burst(15)).toEqual(how === 'frozen' ? { 429: 15 } : { 200: 10, 429: 5 });
      expect(await metric('trailgate_quota_replays_total{outcome="counted"}')).toBeGreaterThan(0);
    });

    it('reports its own counts as approximate usage, to callers and to operators', async () => {
      const { account, key } = await gateway.admin.newKey('local');
      const caller = new Caller(gateway.gatewayUrl, key.secret);
      callers.push(caller);
      const headers = { authorization: `Bearer ${key.secret}` };
      const usage = async (query = '') =>
        (await send(`${gateway.gatewayUrl}/api/v1/usage${query}`, { headers })).json() as Partial<Usage>;
      const usedIn = ({ windows = [] }: Partial<Usage>) => windows.map(({ policy, used }) => [policy, used]);
      expect(await caller.burst(10)).toEqual({ 200: 10 });
      expect(await usage()).not.toHaveProperty('approximate');
      await lose();
      await waitForLoss(open);
      const untouched = await usage();
      expect(untouched).toMatchObject({ approximate: true, api_key_id: key.id });
      expect(usedIn(untouched)).toEqual([['key-minute', 10], ['account-month', 10]]); // prettier-ignore
      expect(await caller.burst(5)).toEqual({ 200: 5 });
      const startedMs = performance.now();
      const counted = await usage();
      expect(quietMsSince(startedMs)).toBeLessThan(1_000);
      expect(usedIn(counted)).toEqual([['key-minute', 15], ['account-month', 15]]); // prettier-ignore
      expect(await usage('?group_by=outcome')).toMatchObject({ approximate: true, has_more: false });
      const ofAccount = await gateway.admin.usage(account.id);
      expect(ofAccount).toMatchObject({ approximate: true, windows: [{ policy: 'account-month', used: 15 }] });
      await restore();
      await waitForReturn(open);
      const after = await usage();
      expect(after).not.toHaveProperty('approximate');
      expect(after.windows?.at(-1)?.used).toBeGreaterThanOrEqual(15);
    });

    it('admits a key that it has never seen, up to its limit', async () => {
      await lose();
      await waitForLoss(open);
      const fresh = await callerOn('local');
      expect(await fresh.burst(40)).toEqual({ 200: 30, 429: 10 });
    });

    it('counts the monthly usage of the account for a key that it has never seen', async () => {
      const { account, key } = await gateway.admin.newKey('month');
      const seen = new Caller(gateway.gatewayUrl, key.secret);
      const fresh = new Caller(gateway.gatewayUrl, (await gateway.admin.createKey(account.id)).secret);
      callers.push(seen, fresh);
      expect(await seen.burst(40)).toEqual({ 200: 40 });
      await sleep(3 * FLUSH_MS);
      await lose();
      await waitForLoss(open);
      expect(policiesOf(await fresh.get())).toMatchObject([{ name: 'account-month', r: 59 }]);
      expect(await seen.burst(100)).toEqual({ 200: 59, 429: 41 });
    });
  });

  it('never sends a request to the backend if its connection is reset before the quota decision', async () => {
    const { key } = await gateway.admin.newKey('local');
    const caller = new Caller(gateway.gatewayUrl, key.secret);
    callers.push(caller);
    await waitForReturn(caller);
    redis.pause();
    const headers = { authorization: `Bearer ${key.secret}`, 'x-request-id': 'gone-undecided' };
    const request = openRequest(`${gateway.gatewayUrl}/api/v1/open`, { headers }).on('error', () => {});
    request.end();
    await sleep(DEADLINE_MS / 3);
    // Uses a reset. After an orderly close, the client could still read the response (decision 0034).
    request.socket?.resetAndDestroy();
    await sleep(3 * DEADLINE_MS);
    redis.resume();
    expect(gateway.logs()).toContainEqual(expect.objectContaining({ request_id: 'gone-undecided', status: 499 }));
    const reached = backend.requests.map((each) => each.headers['x-request-id']);
    expect(reached).not.toContain('gone-undecided');
  });

  describe('with Redis emptied in mid-month', () => {
    const flushall = async (): Promise<void> => {
      const client = connectRedis(redis.url, 'test', { warn: () => {} });
      await redisReady(client, 5_000);
      await client.flushall();
      client.disconnect();
    };

    it('restores the monthly usage from the database and enforces the limit', async () => {
      await waitForReturn(await callerOn('closed'));
      const caller = await callerOn('month');
      expect(await caller.burst(40)).toEqual({ 200: 40 });
      await sleep(3 * FLUSH_MS);
      await flushall();
      expect(await caller.used()).toEqual({ 'account-month': 40 });
      await flushall();
      expect(await caller.burst(100)).toEqual({ 200: 60, 429: 40 });
    });

    it('loses at most the usage of one flush interval under traffic', async () => {
      const caller = await callerOn('month');
      const answeredAtMs: number[] = [];
      const untilMs = performance.now() + 1_000;
      while (performance.now() < untilMs) {
        expect((await caller.get()).status).toBe(200);
        answeredAtMs.push(performance.now());
        await sleep(15);
      }
      const emptiedAtMs = performance.now();
      await flushall();
      const { 'account-month': used = 0 } = await caller.used();
      const safe = answeredAtMs.filter((ms) => ms < emptiedAtMs - FLUSH_MS - 300).length;
      expect(safe).toBeGreaterThan(5);
      expect(used).toBeGreaterThanOrEqual(safe);
      expect(used).toBeLessThanOrEqual(answeredAtMs.length);
    });
  });
});
