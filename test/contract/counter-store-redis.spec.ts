/** Guarantees of counters in Redis beyond the contract: many nodes, one clock, nothing that stays forever. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { systemClock } from '../../src/platform/clock.js';
import { monthPeriodAt } from '../../src/quota/model/month-period.js';
import { PASSING_SINK } from '../../src/quota/model/decision-sink.js';
import { RedisCounters } from '../../src/quota/redis/redis-counters.js';
import { admittedOf, times } from '../support/counter-stores.js';
import { describeWithOwnRedis, describeWithRedis } from '../support/describe-with.js';
import { eventually } from '../support/processes.js';
import { FixedMonths, named, subjectWith } from '../support/quotas.js';
import { startRedis, type RedisServer } from '../support/redis.js';
import { emptyRedis, PATIENT_DEADLINE_MS, patientClient } from '../support/timed-redis.js';
import { ACCOUNT_MINUTE, KEY_MINUTE } from '../../src/platform/quotas/windows.js';

/** Seconds of a ring. */
const BUCKETS = 61;

describeWithRedis('counters in Redis, by its own time', () => {
  let client: Awaited<ReturnType<typeof emptyRedis>>;
  let months: FixedMonths;
  beforeEach(async () => {
    client = await emptyRedis();
    months = new FixedMonths();
  });
  afterEach(() => client.disconnect());
  const node = (clock = systemClock as { now(): number }) =>
    new RedisCounters(client, clock, months, PASSING_SINK, PATIENT_DEADLINE_MS);

  it('admit exactly the limit through several nodes at once', async () => {
    const nodes = times(4, () => node());
    const decisions = await Promise.all(
      nodes.flatMap((each) => times(125, () => each.decide(subjectWith({ accountMonth: 100 }), 1))),
    );
    expect(admittedOf(decisions)).toBe(100);
  });

  it('agree on the time, whatever the clocks of the nodes say', async () => {
    const subject = subjectWith({ keyMinute: 10 });
    const [ahead, behind] = [40_000, -40_000].map((ms) => node({ now: () => Date.now() + ms }));
    const decisions = [];
    for (let round = 0; round < 10; round++) {
      decisions.push(await ahead!.decide(subject, 1), await behind!.decide(subject, 1));
    }
    expect(admittedOf(decisions)).toBe(10);
    for (const { nowMs } of decisions) expect(Math.abs(nowMs - Date.now())).toBeLessThan(10_000);
  });

  it('leave no key that does not expire, and none before the month has ended', async () => {
    await node().decide(subjectWith({}), 1);
    const keys = await client.keys('tg:q:*');
    expect(keys).toHaveLength(2);
    const markers = await client.keys('tg:b:*');
    expect(await client.keys('*')).toHaveLength(keys.length + markers.length);
    for (const marker of markers) expect(await client.pttl(marker)).toBeGreaterThan(0);
    for (const key of keys) expect(await client.pexpiretime(key)).toBeGreaterThan(monthPeriodAt(Date.now()).endMs);
  });

  it('go on where a server forgot their scripts', async () => {
    const store = node();
    await store.decide(subjectWith({}), 1);
    await client.script('FLUSH');
    expect((await store.decide(subjectWith({}), 1)).used[KEY_MINUTE]).toBe(2);
  });

  it('begin again with the month from the database where Redis was emptied, before anything is admitted', async () => {
    const store = node();
    const subject = subjectWith({ accountMonth: 50 });
    await Promise.all(times(30, () => store.decide(subject, 1)));
    months.used = { account: 30, key: 30 };
    await client.flushdb();
    expect(admittedOf(await Promise.all(times(100, () => store.decide(subject, 1))))).toBe(20);
  });

  it('refund a cost also where Redis has just been emptied', async () => {
    const store = node();
    const subject = subjectWith({});
    const decision = await store.decide(subject, 2);
    subject.recordSeen(decision.used, decision.nowMs, decision.period);
    months.used = { account: 7, key: 5 };
    await client.flushdb();
    expect(await store.refund(subject, decision)).toMatchObject({
      fromMonth: 2,
      account: { used: 5 },
      key: { used: 3 },
    });
    expect(named((await store.decide(subject, 1)).used)).toMatchObject({ accountMonth: 6, keyMonth: 4 });
  });

  it('refund nothing to a month that was set after it was counted, also where Redis was emptied since', async () => {
    const store = node();
    const subject = subjectWith({});
    const decision = await store.decide(subject, 2);
    subject.recordSeen(decision.used, decision.nowMs, decision.period);
    const setAtMs = decision.nowMs + 1;
    months.usedInMonth = async () => {
      const written = { used: 40, observedAtMs: setAtMs, setAtMs, later: [] };
      return { account: written, key: written };
    };
    await client.flushdb();
    expect(await store.refund(subject, decision)).toMatchObject({ fromMonth: 0 });
    expect(named((await store.decide(subject, 1)).used)).toMatchObject({ accountMonth: 41, keyMonth: 41 });
  });
});

// On a Redis of its own: what a server does is seen of all its clients.
describeWithOwnRedis('counters in a Redis that is watched', () => {
  let server: RedisServer;
  let client: Awaited<ReturnType<typeof patientClient>>;
  beforeEach(async () => {
    server = await startRedis();
    client = await patientClient(server.url);
  });
  afterEach(async () => {
    client.disconnect();
    await server.stop();
  });

  it('let go of the second that leaves the minute without reading the others', async () => {
    const store = new RedisCounters(client, systemClock, new FixedMonths(), PASSING_SINK, PATIENT_DEADLINE_MS);
    const subject = subjectWith({}, { accountId: 'acc_busy', keyId: 'key_busy' });
    const names = [subject.accountCounterKey, subject.keyCounterKey];
    await store.decide(subject, 1);
    // As if it had been used ten times in every second of a whole ring.
    const last = Number((await client.time())[0]) - 1;
    const ring = times(BUCKETS, (slot) => [slot, 10]).flat();
    const { label } = monthPeriodAt(Date.now());
    for (const name of names)
      await client.hset(name, 'p', label, 'l', last, 's', BUCKETS * 10, 'o', last - BUCKETS + 1, ...ring);
    const monitor = await client.monitor();
    let read = 0;
    monitor.on('monitor', (_time: string, [command = '', name = '', ...fields]: string[]) => {
      if (command.toLowerCase() === 'hmget' && names.includes(name)) read += fields.length;
    });
    const { used, nowMs } = await store.decide(subject, 1);
    const gone = Math.floor(nowMs / 1_000) - last;
    expect([used[ACCOUNT_MINUTE], used[KEY_MINUTE]]).toEqual(times(2, () => (BUCKETS - gone) * 10 + 1));
    await eventually('Redis has said what it read', () => read > 0);
    monitor.disconnect();
    // Of each counter its seven fields and the bucket of now, what has left, and two behind it.
    expect(read).toBeLessThanOrEqual(2 * (8 + gone + 2));
  });
});
