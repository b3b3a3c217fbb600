/** Requests that a node admitted during a Redis outage are counted in Redis afterwards, once in every window. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { monthPeriodAt } from '../../src/quota/model/month-period.js';
import { OutageLog, type OutageEntry } from '../../src/quota/model/outage-log.js';
import { ProcessCounters } from '../../src/quota/process/process-counters.js';
import { PASSING_SINK } from '../../src/quota/model/decision-sink.js';
import { RedisCounters } from '../../src/quota/redis/redis-counters.js';
import { describeWithRedis } from '../support/describe-with.js';
import { FixedMonths, countsByWindow, subjectWith, UTC_MONTHS } from '../support/quotas.js';
import { PATIENT_DEADLINE_MS, timedClient, timedRedisCounters, type TimedCounters } from '../support/timed-redis.js';

const START_MS = Date.parse('2099-11-20T10:00:00Z');

describeWithRedis('requests admitted during a Redis outage', () => {
  let nowMs: number;
  let months: FixedMonths;
  let redis: TimedCounters;
  const subject = subjectWith({ keyMinute: 100, accountMonth: 1_000 });
  beforeEach(async () => {
    nowMs = START_MS;
    months = new FixedMonths();
    redis = await timedRedisCounters({ now: () => nowMs }, months);
  });
  afterEach(() => redis.close());

  /** Returns the outage log entry of these requests, given by their age in milliseconds and cost. */
  function entryOf(admitted: readonly (readonly [agoMs: number, cost: number])[]): OutageEntry {
    const log = new OutageLog();
    for (const [agoMs, cost] of admitted) {
      const atMs = nowMs - agoMs;
      log.recordCost(subject, cost, atMs, monthPeriodAt(atMs));
    }
    const [entry] = log.takeAll();
    return entry!;
  }
  const used = async () => countsByWindow((await redis.counters.read('acc_1', 'key_1', UTC_MONTHS)).used);
  const replay = (entry: OutageEntry) => redis.counters.replay(entry);

  it('count in their day and month, and in their minute only if it has not ended', async () => {
    await redis.counters.decide(subject, 5);
    nowMs += 100_000;
    const entry = entryOf([
      [90_000, 7],
      [30_000, 3],
      [0, 2],
    ]);
    expect(await replay(entry)).toMatchObject({ account: { used: 17 }, key: { used: 17 } });
    expect(await used()).toEqual({
      accountMonth: 17,
      keyMonth: 17,
      accountMinute: 5,
      keyMinute: 5,
      accountDay: 17,
      keyDay: 17,
    });
  });

  it('leave the minute window when their own minute ends, not a minute after Redis returned', async () => {
    await redis.counters.decide(subject, 1);
    nowMs += 120_000;
    await replay(entryOf([[40_000, 30]]));
    const refused = await redis.counters.decide(subject, 71);
    expect(refused.admitted).toBe(false);
    expect(refused.retryAtMs).toBe(nowMs - 40_000 + 61_000);
    nowMs = refused.retryAtMs;
    expect((await redis.counters.decide(subject, 71)).admitted).toBe(true);
  });

  it('count once, however often they are replayed', async () => {
    const entry = entryOf([[1_000, 4]]);
    for (let attempt = 0; attempt < 3; attempt++) {
      expect(await replay(entry)).toMatchObject({ account: { used: 4 }, key: { used: 4 } });
    }
    expect(await used()).toEqual({
      accountMonth: 4,
      keyMonth: 4,
      accountMinute: 4,
      keyMinute: 4,
      accountDay: 4,
      keyDay: 4,
    });
  });

  it('add to the month from the database when Redis comes back empty', async () => {
    months.used = { account: 40, key: 10 };
    expect(await replay(entryOf([[1_000, 4]]))).toMatchObject({ account: { used: 44 }, key: { used: 14 } });
  });

  it('do not count in a month that began after them', async () => {
    nowMs = monthPeriodAt(START_MS).endMs + 10_000;
    await redis.counters.decide(subject, 2);
    await replay(entryOf([[20_000, 9]]));
    expect(await used()).toEqual({
      accountMonth: 2,
      keyMonth: 2,
      accountMinute: 11,
      keyMinute: 11,
      accountDay: 2,
      keyDay: 2,
    });
  });

  it('add up when several nodes replay them', async () => {
    await Promise.all([[3], [4], [5]].map(([cost]) => replay(entryOf([[2_000, cost!]]))));
    expect(await used()).toEqual({
      accountMonth: 12,
      keyMonth: 12,
      accountMinute: 12,
      keyMinute: 12,
      accountDay: 12,
      keyDay: 12,
    });
  });

  it('can be refunded later, by the clock that admitted them', async () => {
    const ahead = { now: () => nowMs + 7_400 };
    const node = await timedRedisCounters({ now: () => nowMs }, months);
    const skewed = new RedisCounters(
      timedClient(node.client, { now: () => nowMs }),
      ahead,
      months,
      PASSING_SINK,
      PATIENT_DEADLINE_MS,
    );
    await skewed.decide(subject, 2);
    const local = new ProcessCounters(ahead, months, 'local');
    const decision = await local.decide(subject, 5);
    const log = new OutageLog();
    log.recordCost(subject, 5, decision.nowMs, decision.period);
    await skewed.replay(log.takeAll()[0]!);
    expect(await used()).toEqual({
      accountMonth: 7,
      keyMonth: 7,
      accountMinute: 7,
      keyMinute: 7,
      accountDay: 7,
      keyDay: 7,
    });
    nowMs += 2_000;
    await skewed.refund(subject, decision);
    expect(await used()).toEqual({
      accountMonth: 2,
      keyMonth: 2,
      accountMinute: 2,
      keyMinute: 2,
      accountDay: 2,
      keyDay: 2,
    });
    node.close();
  });
});
