/** Gateways on one Redis Cluster admit exactly the limit together, whichever hash slot an account is in. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { json, startBackend, type Backend } from '../support/backend.js';
import { describeWithOwnRedis } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { eventually } from '../support/processes.js';
import type { RunningTrailgate } from '../support/program.js';
import { admittedInAll, Caller } from '../support/rate-limit.js';
import { startCluster, type ClusterGroup } from '../support/redis-groups.js';
import { startNodes } from '../support/worlds.js';

const PLANS = {
  strict: { account: { minute: 100, month: 1_000 }, onRedisLoss: 'closed' },
  small: { account: { month: 5 }, onRedisLoss: 'closed' },
  local: { account: { month: 60 }, onRedisLoss: 'local' },
};

describeWithOwnRedis('two gateways on a Redis Cluster', () => {
  let cluster: ClusterGroup;
  let backend: Backend;
  let gateways: RunningTrailgate[];
  beforeAll(async () => {
    cluster = await startCluster();
    backend = await startBackend(json({ ok: true }));
    const shared = { backend: backend.url, config: { plans: PLANS }, env: { REDIS_URL: cluster.url } };
    gateways = await startNodes(2, shared);
  });
  afterAll(async () => {
    await Promise.all(gateways.map((gateway) => gateway.stop()));
    await backend.stop();
    await cluster.stop();
  });

  it('together admit exactly 100 of 500 requests at a limit of 100', async () => {
    const { key } = await gateways[0]!.admin.newKey('strict');
    const callers = gateways.map(({ gatewayUrl }) => new Caller(gatewayUrl, key.secret, 250));
    expect(await admittedInAll(callers, 250, 100)).toBe(100);
    for (const caller of callers) caller.close();
  });

  it('admit exactly the limit for each of 30 accounts at the same time', async () => {
    const { admin } = gateways[0]!;
    const accounts = await Promise.all(Array.from({ length: 30 }, () => admin.newKey('small')));
    const results = await Promise.all(
      accounts.map(async ({ key }) => {
        const callers = gateways.map(({ gatewayUrl }) => new Caller(gatewayUrl, key.secret, 6));
        const admitted = await admittedInAll(callers, 6, 5);
        for (const caller of callers) caller.close();
        return admitted;
      }),
    );
    expect(results).toEqual(results.map(() => 5));
  });

  it('send requests with the same Idempotency-Key to the backend once, and replay the response', async () => {
    const { key } = await gateways[0]!.admin.newKey('unlimited');
    const post = (name: string, at: number) =>
      send(`${gateways[at % 2]!.gatewayUrl}/api/v1/customers`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${key.secret}`, 'Idempotency-Key': name },
        body: '{}',
      });
    const names = Array.from({ length: 20 }, (_, at) => `order ${at}`);
    await Promise.all(names.flatMap((name) => [0, 1, 2].map((at) => post(name, at))));
    const again = await Promise.all(names.map(post));
    expect(again.map(({ headers }) => headers['idempotent-replayed'])).toEqual(names.map(() => 'true'));
    const carriedOut = backend.requests.map(({ headers }) => headers['idempotency-key']).filter(Boolean);
    expect(carriedOut.toSorted()).toEqual(names.toSorted());
  });

  it('admit requests while a Redis shard is down, and count each of them once after it returns', async () => {
    const { admin, adminUrl, gatewayUrl } = gateways[0]!;
    const keys = await Promise.all(Array.from({ length: 9 }, () => admin.newKey('local')));
    const callers = keys.map(({ key }) => new Caller(gatewayUrl, key.secret, 4));
    await Promise.all(callers.map((caller) => caller.burst(2)));
    await cluster.masters[0]!.kill9();
    for (let round = 0; round < 5; round++) {
      const bursts = await Promise.all(callers.map((caller) => caller.burst(2)));
      expect(bursts).toEqual(bursts.map(() => ({ 200: 2 })));
    }
    await cluster.masters[0]!.restart();
    await eventually('the gateway decides by Redis again', async () => {
      const body = (await (await fetch(`${adminUrl}/readyz`)).json()) as {
        checks: { quota_store: { status: string } };
      };
      return body.checks.quota_store.status === 'pass';
    });
    const used = await Promise.all(callers.map(async (caller) => (await caller.used())['account-month']));
    // The two requests before the loss come back from the database, but only if a flush had written them.
    for (const count of used) expect(count === 12 || count === 10).toBe(true);
    for (const caller of callers) caller.close();
  });
});
