/** Redis Sentinel fails over. Requests are decided by plan, nothing is restarted, and no limit is admitted twice. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { json, startBackend, type Backend } from '../support/backend.js';
import { describeWithOwnRedis } from '../support/describe-with.js';
import { eventually, sleep } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';
import { Caller } from '../support/rate-limit.js';
import { startSentinelGroup, type SentinelGroup } from '../support/redis-groups.js';

const LIMIT = 400;

describeWithOwnRedis('a gateway on Redis Sentinel', () => {
  let group: SentinelGroup;
  let backend: Backend;
  let gateway: RunningTrailgate;
  beforeAll(async () => {
    group = await startSentinelGroup();
    backend = await startBackend(json({ ok: true }));
    gateway = await startTrailgate({
      backend: backend.url,
      config: { plans: { local: { account: { month: LIMIT } } } },
      env: { REDIS_URL: group.url },
    });
  });
  afterAll(async () => {
    await gateway.stop();
    await backend.stop();
    await group.stop();
  });

  it('answers only 200 or 429 across a failover to the replica, and admits exactly the limit', async () => {
    const { key } = await gateway.admin.newKey('local');
    const caller = new Caller(gateway.gatewayUrl, key.secret, 10);
    const statuses: Record<number, number> = {};
    const burst = async (): Promise<void> => {
      for (const [status, count] of Object.entries(await caller.burst(10)))
        statuses[Number(status)] = (statuses[Number(status)] ?? 0) + count;
    };
    const quotaStore = async (): Promise<string> => {
      const body = (await (await fetch(`${gateway.adminUrl}/readyz`)).json()) as {
        checks: { quota_store: { status: string } };
      };
      return body.checks.quota_store.status;
    };
    for (let round = 0; round < 5; round++) await burst();
    await group.master.kill9();
    await burst();
    await burst();
    expect(await quotaStore()).toBe('warn');
    await eventually('the replica has taken over', async () => {
      await burst();
      await sleep(100);
      return (await quotaStore()) === 'pass';
    });
    await eventually('quota_store_back is logged', () =>
      gateway.logs().some(({ event }) => event === 'quota_store_back'),
    );
    while (statuses[429] === undefined) await burst();
    expect(Object.keys(statuses).toSorted()).toEqual(['200', '429']);
    expect(statuses[200]).toBe(LIMIT);
    expect((await caller.used())['account-month']).toBe(LIMIT);
    caller.close();
  });
});
