/**
 * The clock jumps into another month and back. Each month continues at its previous count, and never below the count of
 * the process or the database.
 */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { CounterStore } from '../../src/quota/model/counter-store.js';
import { monthPeriodAt, type MonthPeriod } from '../../src/quota/model/month-period.js';
import { OutageLog } from '../../src/quota/model/outage-log.js';
import type { QuotaDecision } from '../../src/quota/model/policies.js';
import { ProcessCounters } from '../../src/quota/process/process-counters.js';
import { RedisCounters } from '../../src/quota/redis/redis-counters.js';
import type { QuotaSubject } from '../../src/quota/model/subject.js';
import { describeCounterStores, START_MS } from '../support/counter-stores.js';
import { describeWithRedis } from '../support/describe-with.js';
import { announceHistories, HISTORIES_TIMEOUT_MS, RUNS } from '../support/histories.js';
import { countsWith, FixedMonths, countsByWindow, subjectWith, UTC_MONTHS } from '../support/quotas.js';
import { TestClock } from '../support/stores.js';
import { timedClient, timedRedisCounters, type TimedCounters } from '../support/timed-redis.js';
import { ACCOUNT_MONTH, KEY_MONTH } from '../../src/platform/quotas/windows.js';

const DAY_MS = 86_400_000;
const MONTH_MS = 31 * DAY_MS;

describeCounterStores((under) => {
  const subject = subjectWith({ accountMonth: 10 });
  const months = async () => {
    const { accountMonth, keyMonth } = await under().usedBy(subject);
    return [accountMonth, keyMonth];
  };

  it('continue the count of each month when the clock jumps to the next month and back', async () => {
    await under().decideEach(subject, 8);
    under().clock.advance(MONTH_MS);
    await under().decideEach(subject, 3);
    under().clock.advance(-MONTH_MS);
    expect(await months()).toEqual([8, 8]);
    expect(countsByWindow((await under().decide(subject)).used)).toMatchObject({ accountMonth: 9, keyMonth: 9 });
    const verdicts = await under().decideEach(subject, 3);
    expect(verdicts.map(({ admitted }) => admitted)).toEqual([true, false, false]);
    under().clock.advance(MONTH_MS);
    expect(countsByWindow((await under().decide(subject)).used)).toMatchObject({ accountMonth: 4, keyMonth: 4 });
    expect(under().months.asked).toHaveLength(1);
  });

  it('continue the count of the month when the clock crosses its end for an hour', async () => {
    under().at(monthPeriodAt(START_MS).endMs - 1_800_000);
    await under().decideEach(subject, 8);
    under().clock.advance(3_600_000);
    await under().decideEach(subject, 3);
    under().clock.advance(-3_600_000);
    expect(await months()).toEqual([8, 8]);
  });

  it('seed the current month from the database for a counter created in a later month', async () => {
    under().clock.advance(MONTH_MS);
    await under().decideEach(subject, 3);
    under().months.used = { account: 7, key: 6 };
    under().clock.advance(-MONTH_MS);
    expect(await months()).toEqual([7, 6]);
    expect(countsByWindow((await under().decide(subject)).used)).toMatchObject({ accountMonth: 8, keyMonth: 7 });
    under().clock.advance(MONTH_MS);
    expect(await months()).toEqual([3, 3]);
  });

  it('refund a cost to its own month, even after the other month was set', async () => {
    const first = await under().decide(subject, 2);
    under().clock.advance(MONTH_MS);
    await under().decideEach(subject, 3);
    await under().store.setMonthUsed('acc_1', undefined, UTC_MONTHS, 5);
    under().clock.advance(-MONTH_MS);
    await under().store.refund(subject, first);
    expect(await months()).toEqual([0, 0]);
    const second = await under().decide(subject, 3);
    await under().store.refund(subject, second);
    expect(await months()).toEqual([0, 0]);
    under().clock.advance(MONTH_MS);
    expect(await months()).toEqual([5, 3]);
  });

  it('leave the next month unchanged when the current month is set', async () => {
    await under().decideEach(subject, 8);
    under().clock.advance(MONTH_MS);
    await under().decideEach(subject, 3);
    under().clock.advance(-MONTH_MS);
    expect(await under().store.setMonthUsed('acc_1', undefined, UTC_MONTHS, 2)).toMatchObject({ before: 8 });
    under().clock.advance(MONTH_MS);
    expect(await months()).toEqual([3, 3]);
    under().clock.advance(-MONTH_MS);
    expect(await months()).toEqual([2, 8]);
  });

  it('refund a cost to the continued count after the billing day was moved back', async () => {
    const moved = subjectWith({ accountMonth: 10 }, { billingDay: 15 });
    await under().decideEach(moved, 4);
    const decision = await under().decide(subject, 3);
    expect(countsByWindow(decision.used)).toMatchObject({ accountMonth: 7, keyMonth: 7 });
    expect(await under().store.refund(subject, decision)).toMatchObject({ fromMonth: 3 });
    expect(await months()).toEqual([4, 4]);
  });
});

/** Admitted cost by month. Stands in for the database, and is the expected value of each counter. */
class Admitted implements Pick<FixedMonths, 'usedInMonth'> {
  private readonly counts = new Map<string, number>();

  add({ accountId, keyId }: QuotaSubject, { label }: MonthPeriod, cost: number): void {
    for (const id of [accountId, keyId]) this.counts.set(`${id}/${label}`, this.used(id, label) + cost);
  }

  used(id: string, label: number): number {
    return this.counts.get(`${id}/${label}`) ?? 0;
  }

  async usedInMonth(accountId: string, keyId: string | undefined, { label, following }: MonthPeriod) {
    const countOf = (id: string) => ({
      used: this.used(id, label),
      later: [...this.counts]
        .map(([name, used]) => ({ id: name.split('/')[0], month: Number(name.split('/')[1]), used }))
        .filter((each) => each.id === id && each.month >= following),
    });
    return { account: countOf(accountId), key: countOf(keyId ?? '') };
  }
}

const steps = fc.array(
  fc.record({
    key: fc.nat(1),
    count: fc.constantFrom(0, 1, 1, 2, 5),
    cost: fc.constantFrom(1, 1, 3),
    jumpMs: fc.oneof(
      { weight: 3, arbitrary: fc.constant(0) },
      { weight: 3, arbitrary: fc.constantFrom(MONTH_MS, -MONTH_MS) },
      { weight: 2, arbitrary: fc.integer({ min: -2 * MONTH_MS, max: 2 * MONTH_MS }) },
    ),
    refund: fc.boolean(),
  }),
  { minLength: 4, maxLength: 30 },
);
type Steps = typeof steps extends fc.Arbitrary<infer T> ? T : never;

let account = 0;

/** Plays a history within three months, because a counter remembers only its own month and two others. */
async function play(store: CounterStore, clock: TestClock, admitted: Admitted, drawn: Steps): Promise<void> {
  const accountId = `acc_${++account}`;
  const subjects = ['a', 'b'].map((key) => subjectWith({}, { accountId, keyId: `${accountId}_${key}` }));
  clock.advance(START_MS - clock.now());
  for (const { key, count, cost, jumpMs, refund } of drawn) {
    clock.advance(Math.max(-MONTH_MS, Math.min(clock.now() - START_MS + jumpMs, MONTH_MS)) - (clock.now() - START_MS));
    const subject = subjects[key]!;
    const made: QuotaDecision[] = [];
    for (let request = 0; request < count; request++) made.push(await store.decide(subject, cost));
    for (const { period } of made) admitted.add(subject, period, cost);
    const [given] = refund ? made : [];
    if (given !== undefined) {
      await store.refund(subject, given);
      admitted.add(subject, given.period, -cost);
    }
    const { label } = UTC_MONTHS.at(clock.now());
    const { used } = await store.read(accountId, subject.keyId, UTC_MONTHS);
    const counted = [used[ACCOUNT_MONTH], used[KEY_MONTH]];
    expect([label, ...counted]).toEqual([label, admitted.used(accountId, label), admitted.used(subject.keyId, label)]);
  }
}

function histories(
  open: (clock: TestClock, months: Admitted) => Promise<{ store: CounterStore; close(): void }>,
): void {
  it(
    'count each request in the month in which it was admitted, wherever the clock jumps to',
    async () => {
      const clock = new TestClock(START_MS);
      const admitted = new Admitted();
      const { store, close } = await open(clock, admitted);
      try {
        await fc.assert(
          fc.asyncProperty(steps, (drawn) => play(store, clock, admitted, drawn)),
          RUNS,
        );
      } finally {
        close();
      }
    },
    HISTORIES_TIMEOUT_MS,
  );
}

announceHistories('a clock that jumps by months');

describe('counters in the process', () => {
  histories(async (clock, months) => ({ store: new ProcessCounters(clock, months), close: () => {} }));
});

describeWithRedis('counters in Redis', () => {
  histories(async (clock, months) => {
    const { counters, close } = await timedRedisCounters(clock, months);
    return { store: counters, close };
  });
});

describeWithRedis('a node whose clock is a month ahead', () => {
  let redis: TimedCounters;
  let node: RedisCounters;
  const months = new FixedMonths();
  const redisClock = { now: () => START_MS };
  const clock = new TestClock(START_MS);
  const subject = subjectWith({ accountMonth: 10 });
  beforeEach(async () => {
    redis = await timedRedisCounters(redisClock, months);
    clock.advance(START_MS - clock.now());
    node = new RedisCounters(timedClient(redis.client, redisClock), clock, months);
  });
  afterEach(() => redis.close());
  const used = async () => countsByWindow((await redis.counters.read('acc_1', 'key_1', UTC_MONTHS)).used);

  it('does not choose the month in Redis, because Redis uses its own clock', async () => {
    for (let request = 0; request < 8; request++) await node.decide(subject, 1);
    clock.advance(MONTH_MS);
    const decisions = [];
    for (let request = 0; request < 3; request++) decisions.push(await node.decide(subject, 1));
    expect(decisions.map(({ admitted, period }) => [admitted, period.label])).toEqual([
      [true, 21_001_101],
      [true, 21_001_101],
      [false, 21_001_101],
    ]);
    expect((await node.read('acc_1', 'key_1', UTC_MONTHS)).used[ACCOUNT_MONTH]).toBe(10);
    expect((await used()).accountMonth).toBe(10);
  });

  it('reports its counts to a counter without the month, and does not reset it to zero', async () => {
    const ahead = { now: () => START_MS + MONTH_MS };
    await new RedisCounters(timedClient(redis.client, ahead), ahead, months).decide(subject, 3);
    months.used = { account: 7, key: 6 };
    await node.read('acc_2', undefined, UTC_MONTHS);
    subject.recordSeen(countsWith({ accountMonth: 7, keyMonth: 6 }), START_MS, monthPeriodAt(START_MS));
    expect(await node.restore([subject])).toEqual([]);
    expect(await used()).toMatchObject({ accountMonth: 7, keyMonth: 6 });
    months.used = { account: 0, key: 0 };
  });

  it('replays requests of an outage into their own month only', async () => {
    await node.decide(subject, 4);
    const log = new OutageLog();
    log.recordCost(subject, 2, START_MS, monthPeriodAt(START_MS));
    log.recordCost(subject, 3, START_MS + MONTH_MS, monthPeriodAt(START_MS + MONTH_MS));
    for (const entry of log.takeAll()) await node.replay(entry);
    expect(await used()).toMatchObject({ accountMonth: 6, keyMonth: 6 });
    expect(countsByWindow((await node.decide(subject, 1)).used)).toMatchObject({ accountMonth: 7, keyMonth: 7 });
  });
});
