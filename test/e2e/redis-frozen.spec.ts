/** Redis is frozen (SIGSTOP) under load and resumes. Plans follow `onRedisLoss`, and admitted requests are counted. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeWithOwnRedis } from '../support/describe-with.js';
import { FLUSH_MS, freezeRedis, type FrozenPlan, type FrozenRedis } from '../support/frozen-redis.js';
import type { Sample } from '../support/steady-load.js';

const PER_SECOND = 200;
/** Limit that is used up while Redis is frozen. A fifth of the requests go to this plan. */
const TIGHT_LIMIT = 60;
const SETTINGS = { perSecond: PER_SECOND, beforeMs: 800, frozenMs: 2_000, tightLimit: TIGHT_LIMIT };

describeWithOwnRedis('Redis frozen under load', () => {
  let frozen: FrozenRedis;
  beforeAll(async () => {
    frozen = await freezeRedis(SETTINGS);
  });
  afterAll(() => frozen.stop());

  const statusesOf = (samples: readonly Sample[]) => [...new Set(samples.map(({ status }) => status))].toSorted();
  const admitted = (name: FrozenPlan) =>
    frozen.load.samples.filter((sample) => sample.name === name && sample.status === 200).length;

  it('causes 503 responses on a `closed` plan, and no 5xx on other plans', () => {
    const statuses = (...names: FrozenPlan[]) =>
      statusesOf(frozen.load.samples.filter((sample) => names.some((name) => name === sample.name)));
    expect(statuses('local', 'open')).toEqual([200]);
    expect(statuses('tight')).toEqual([200, 429]);
    expect(statusesOf(frozen.whileOpen('closed'))).toEqual([503]);
  });

  it('lets a limit be exceeded by at most the requests of one flush interval', () => {
    // The bound applies to each loss that a gateway noticed. On a busy machine there are several.
    const losses = frozen.gateways.reduce((sum, gateway) => sum + frozen.countOf(gateway, 'quota_store_lost'), 0);
    const inAnInterval = ((PER_SECOND / 5) * FLUSH_MS) / 1_000;
    const over = admitted('tight') - TIGHT_LIMIT;
    expect(over).toBeGreaterThanOrEqual(0);
    expect(over).toBeLessThanOrEqual(losses * inAnInterval);
    expect(frozen.load.samples.findLast(({ name }) => name === 'tight')?.status).toBe(429);
  });

  it.each(['local', 'closed', 'tight'] as const)(
    'leaves each request that plan `%s` admitted counted exactly once after Redis resumes',
    async (name) => {
      const { windows } = await frozen.gateways[0]!.admin.usage(frozen.accounts[name]);
      expect(windows.find(({ policy }) => policy === 'account-month')?.used).toBe(admitted(name));
    },
  );
});
