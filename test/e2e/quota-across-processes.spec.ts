/** Gateways that share one Redis admit exactly the limit together. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { json, startBackend, type Backend } from '../support/backend.js';
import { describeWithRedis } from '../support/describe-with.js';
import type { RunningTrailgate } from '../support/program.js';
import { admittedInAll, Caller, policiesOf } from '../support/rate-limit.js';
import { sharedRedisUrl } from '../support/redis.js';
import { startNodes } from '../support/worlds.js';

const PLANS = {
  minute: { account: { minute: 100 }, onRedisLoss: 'closed' },
  month: { account: { month: 100 }, onRedisLoss: 'closed' },
  mixed: { key: { minute: 70 }, account: { minute: 100, month: 100 }, onRedisLoss: 'closed' },
};

describeWithRedis('two gateways on one Redis', () => {
  let backend: Backend;
  let gateways: RunningTrailgate[] = [];
  beforeAll(async () => {
    backend = await startBackend(json({ ok: true }));
    const shared = { backend: backend.url, config: { plans: PLANS }, env: { REDIS_URL: await sharedRedisUrl() } };
    gateways = await startNodes(2, shared);
  });
  afterAll(async () => {
    await Promise.all(gateways.map((gateway) => gateway.stop()));
    await backend.stop();
  });

  it.each(['minute', 'month'])('together admit exactly 100 of 500 requests at a limit of 100 a %s', async (plan) => {
    const { key } = await gateways[0]!.admin.newKey(plan);
    const callers = gateways.map(({ gatewayUrl }) => new Caller(gatewayUrl, key.secret, 250));
    backend.requests.length = 0;
    expect(await admittedInAll(callers, 250, 100)).toBe(100);
    expect(backend.requests).toHaveLength(100);
    for (const caller of callers) {
      expect(policiesOf(await caller.get())[0]).toMatchObject({ name: `account-${plan}`, q: 100, r: 0 });
      caller.close();
    }
  });

  it('admit exactly the account limit, and no key above its own, when two keys and windows compete', async () => {
    const { admin } = gateways[0]!;
    const { account, key } = await admin.newKey('mixed');
    const other = await admin.createKey(account.id);
    backend.requests.length = 0;
    const callers = gateways.flatMap(({ gatewayUrl }) =>
      [key, other].map(({ secret }) => new Caller(gatewayUrl, secret, 60)),
    );
    await Promise.all(callers.map((caller) => caller.decided(100)));
    expect(backend.requests).toHaveLength(100);
    const byKey = [key, other].map(
      ({ id }) => backend.requests.filter(({ headers }) => headers['x-api-key-id'] === id).length,
    );
    expect(Math.max(...byKey)).toBeLessThanOrEqual(70);
    expect(await callers[0]?.used()).toMatchObject({
      'account-minute': 100,
      'account-month': 100,
      'key-minute': byKey[0],
    });
    for (const caller of callers) caller.close();
  });
});
