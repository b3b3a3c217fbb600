/** Redis is stopped (SIGSTOP) under load on two gateways, and goes on: every plan does what it says, and what was admitted is counted. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeWithOwnRedis } from '../support/describe-with.js';
import { FLUSH_MS, freezeRedis, type FrozenPlan, type FrozenRedis } from '../support/frozen-redis.js';
import type { Sample } from '../support/steady-load.js';

const PER_SECOND = 200;
/** Used up while Redis stands still: of the five kinds of requests a fifth is for it. */
const TIGHT_LIMIT = 60;
const SETTINGS = { perSecond: PER_SECOND, beforeMs: 800, frozenMs: 2_000, tightLimit: TIGHT_LIMIT };

describeWithOwnRedis('Redis stopped under load', () => {
  let frozen: FrozenRedis;
  beforeAll(async () => {
    frozen = await freezeRedis(SETTINGS);
  });
  afterAll(() => frozen.stop());

  const statusesOf = (samples: readonly Sample[]) => [...new Set(samples.map(({ status }) => status))].toSorted();
  const admitted = (name: FrozenPlan) =>
    frozen.load.samples.filter((sample) => sample.name === name && sample.status === 200).length;

  it('no plan but `closed` answers a 5xx at any time', () => {
    const statuses = (...names: FrozenPlan[]) =>
      statusesOf(frozen.load.samples.filter((sample) => names.some((name) => name === sample.name)));
    expect(statuses('local', 'open')).toEqual([200]);
    expect(statuses('tight')).toEqual([200, 429]);
    expect(statusesOf(frozen.whileOpen('closed'))).toEqual([503]);
  });

  it('a limit that is used up in between is exceeded by no more than one flush interval holds', () => {
    // For each loss of a node; there is more than one where the machine was too busy for the deadline.
    const losses = frozen.gateways.reduce((sum, gateway) => sum + frozen.countOf(gateway, 'quota_store_lost'), 0);
    const inAnInterval = ((PER_SECOND / 5) * FLUSH_MS) / 1_000;
    const over = admitted('tight') - TIGHT_LIMIT;
    expect(over).toBeGreaterThanOrEqual(0);
    expect(over).toBeLessThanOrEqual(losses * inAnInterval);
    expect(frozen.load.samples.findLast(({ name }) => name === 'tight')?.status).toBe(429);
  });

  it.each(['local', 'closed', 'tight'] as const)(
    'what `%s` admitted is counted when Redis goes on, once and no more',
    async (name) => {
      const { windows } = await frozen.gateways[0]!.admin.usage(frozen.accounts[name]);
      expect(windows.find(({ policy }) => policy === 'account-month')?.used).toBe(admitted(name));
    },
  );
});
