/** Shadow limits of a plan. What they would have refused is counted by plan and policy, but no request is affected. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { json, startBackend, type Backend, type BackendHandler } from '../support/backend.js';
import { describeWithOwnRedis, describeWithRedis } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { labelsOf, parseMetrics } from '../support/metrics-text.js';
import { eventually } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';
import { Caller, policiesOf } from '../support/rate-limit.js';
import { sharedRedisUrl, startRedis, type RedisServer } from '../support/redis.js';

const LIVE = { key: { minute: 100 }, account: { minute: 200, month: 1_000 } };
const plans = {
  plain: LIVE,
  minute: { ...LIVE, shadow: { key: { minute: 10 }, account: { month: 500 } } },
  month: { ...LIVE, shadow: { account: { month: 4 } } },
  usage: { ...LIVE, shadow: { key: { minute: 3 } } },
  failing: { ...LIVE, shadow: { account: { month: 4, minute: 5 } } },
};

/** Returns the number of shadow decisions for a plan, by outcome and policy. */
async function shadowOf(gateway: RunningTrailgate, plan: string): Promise<Record<string, number>> {
  const { text } = await send(`${gateway.adminUrl}/metrics`);
  const samples = parseMetrics(text).get('trailgate_quota_shadow_decisions_total')?.samples ?? new Map();
  const counts: Record<string, number> = {};
  for (const [series, value] of samples) {
    const labels = Object.fromEntries(labelsOf(series.slice(series.indexOf('{') + 1, -1)));
    if (labels['plan'] === plan && value > 0) counts[`${labels['outcome']} ${labels['policy']}`.trim()] = value;
  }
  return counts;
}

async function expectShadow(gateway: RunningTrailgate, plan: string, expected: Record<string, number>): Promise<void> {
  await eventually(`the shadow of ${plan} is ${JSON.stringify(expected)}`, async () => {
    const counts = await shadowOf(gateway, plan);
    return Object.entries(expected).every(([name, count]) => counts[name] === count);
  });
  expect(await shadowOf(gateway, plan)).toEqual(expected);
}

function suite(env: () => Promise<Record<string, string>>): void {
  let handler: BackendHandler;
  let backend: Backend;
  let gateway: RunningTrailgate;
  const callers: Caller[] = [];
  beforeAll(async () => {
    backend = await startBackend((...args) => handler(...args));
    gateway = await startTrailgate({
      backend: backend.url,
      config: { plans, usage: { flushInterval: '200ms' } },
      env: await env(),
    });
  });
  beforeEach(() => {
    handler = json({ ok: true });
  });
  afterAll(async () => {
    for (const caller of callers) caller.close();
    await gateway.stop();
    await backend.stop();
  });
  async function callerOn(plan: keyof typeof plans): Promise<Caller & { readonly accountId: string }> {
    const { account, key } = await gateway.admin.newKey(plan);
    const caller = new Caller(gateway.gatewayUrl, key.secret);
    callers.push(caller);
    return Object.assign(caller, { accountId: account.id });
  }

  it('are reported to operators apart from the requests, and never to callers', async () => {
    const caller = await callerOn('usage');
    for (let request = 0; request < 7; request++) expect((await caller.get()).status).toBe(200);
    const rows = async (query: string) =>
      (await gateway.admin.usage(caller.accountId, `?group_by=operation,outcome&${query}`)) as unknown as {
        data: { outcome: string; requests: number; cost: number }[];
      };
    await eventually('the shadow usage is reported', async () => (await rows('shadow=true')).data[0]?.requests === 4);
    expect((await rows('shadow=true')).data).toEqual([
      { operation: 'getOpen', outcome: 'shadow_refused', requests: 4, cost: 0 },
    ]);
    const served = [{ operation: 'getOpen', outcome: 'success', requests: 7, cost: 7 }];
    await eventually('all requests are reported', async () => (await rows('')).data[0]?.requests === 7);
    expect((await rows('')).data).toEqual(served);
    expect((await rows('shadow=false')).data).toEqual(served);
    const own = await caller.get('/usage?group_by=operation,outcome');
    expect(own.json()['data']).toEqual(served);
    const asked = await caller.get('/usage?group_by=operation,outcome&shadow=true');
    expect([asked.status, asked.json()['code']]).toEqual([400, 'invalid_parameter']);
  });

  it('refuse no request, and are not in the rate limit fields', async () => {
    const caller = await callerOn('minute');
    expect(await caller.burst(30)).toEqual({ 200: 30 });
    const answer = await caller.get();
    expect(policiesOf(answer).map(({ name, q, r }) => [name, q, r])).toEqual([
      ['key-minute', 100, 69],
      ['account-minute', 200, 169],
      ['account-month', 1_000, 969],
    ]);
    await expectShadow(gateway, 'minute', { admitted: 10, 'refused key-minute': 21 });
  });

  it('count what a monthly limit would have refused', async () => {
    const caller = await callerOn('month');
    for (let request = 0; request < 6; request++) expect((await caller.get()).status).toBe(200);
    await expectShadow(gateway, 'month', { admitted: 4, 'refused account-month': 2 });
  });

  it('get the cost of requests that failed at the backend back', async () => {
    const caller = await callerOn('failing');
    handler = json({}, 502);
    // On a busy machine, some requests are decided without the store and have no shadow decision. So send until there
    // are enough.
    for (let request = 0; ((await shadowOf(gateway, 'failing'))['admitted'] ?? 0) < 12 && request < 40; request++) {
      expect((await caller.get()).status).toBe(502);
      await eventually('the cost is refunded', async () => (await caller.used())['account-month'] === 0);
    }
    // Late shadow decisions do not count, either.
    await eventually(
      'all shadow decisions are counted',
      async () => (await shadowOf(gateway, 'failing'))['admitted'] === 12,
    );
    const { failed: _, ...judged } = await shadowOf(gateway, 'failing');
    expect(judged).toEqual({ admitted: 12 });
  });

  it('are not evaluated on a plan without them', async () => {
    const caller = await callerOn('plain');
    expect(await caller.burst(5)).toEqual({ 200: 5 });
    expect(await shadowOf(gateway, 'plain')).toEqual({});
  });
}

describe('shadow limits on counters in the process', () => {
  suite(async () => ({}));
});

describeWithRedis('shadow limits on counters in Redis', () => {
  suite(async () => ({ REDIS_URL: await sharedRedisUrl() }));
});

describeWithOwnRedis('shadow limits while Redis is lost', () => {
  let redis: RedisServer;
  let backend: Backend;
  let gateway: RunningTrailgate;
  beforeAll(async () => {
    redis = await startRedis();
    backend = await startBackend(json({ ok: true }));
    gateway = await startTrailgate({ backend: backend.url, config: { plans }, env: { REDIS_URL: redis.url } });
  });
  afterAll(async () => {
    await gateway.stop();
    await redis.stop();
    await backend.stop();
  });

  it('are not evaluated, and requests are still admitted', async () => {
    const { key } = await gateway.admin.newKey('minute');
    const caller = new Caller(gateway.gatewayUrl, key.secret);
    expect(await caller.burst(3)).toEqual({ 200: 3 });
    await expectShadow(gateway, 'minute', { admitted: 3 });
    await redis.stop();
    expect(await caller.burst(20)).toEqual({ 200: 20 });
    expect(await shadowOf(gateway, 'minute')).toEqual({ admitted: 3 });
    caller.close();
  });
});
