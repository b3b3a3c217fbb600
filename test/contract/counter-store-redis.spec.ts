/** Guarantees that only counters in Redis give: several nodes, one clock, and keys that expire. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { systemClock } from '../../src/platform/clock.js';
import { monthPeriodAt } from '../../src/quota/model/month-period.js';
import { PASSING_SINK } from '../../src/quota/model/decision-sink.js';
import { RedisCounters } from '../../src/quota/redis/redis-counters.js';
import { admittedOf, repeat } from '../support/counter-stores.js';
import { describeWithOwnRedis, describeWithRedis } from '../support/describe-with.js';
import { eventually } from '../support/processes.js';
import { FixedMonths, countsByWindow, subjectWith } from '../support/quotas.js';
import { startRedis, type RedisServer } from '../support/redis.js';
import { emptyRedis, PATIENT_DEADLINE_MS, patientClient } from '../support/timed-redis.js';
import { ACCOUNT_MINUTE, KEY_MINUTE } from '../../src/platform/quotas/windows.js';

/** The number of one-second buckets in the ring of a minute window. */
const BUCKETS = 61;

describeWithRedis('counters in Redis, on its own clock', () => {
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
    const nodes = repeat(4, () => node());
    const decisions = await Promise.all(
      nodes.flatMap((each) => repeat(125, () => each.decide(subjectWith({ accountMonth: 100 }), 1))),
    );
    expect(admittedOf(decisions)).toBe(100);
  });

  it('use one clock, even if the clocks of the nodes differ', async () => {
    const subject = subjectWith({ keyMinute: 10 });
    const [ahead, behind] = [40_000, -40_000].map((ms) => node({ now: () => Date.now() + ms }));
    const decisions = [];
    for (let round = 0; round < 10; round++) {
      decisions.push(await ahead!.decide(subject, 1), await behind!.decide(subject, 1));
    }
    expect(admittedOf(decisions)).toBe(10);
    for (const { nowMs } of decisions) expect(Math.abs(nowMs - Date.now())).toBeLessThan(10_000);
  });

  it('set an expiry on every Redis key, and on counters one after the end of the month', async () => {
    await node().decide(subjectWith({}), 1);
    const keys = await client.keys('tg:q:*');
    expect(keys).toHaveLength(2);
    const markers = await client.keys('tg:b:*');
    expect(await client.keys('*')).toHaveLength(keys.length + markers.length);
    for (const marker of markers) expect(await client.pttl(marker)).toBeGreaterThan(0);
    for (const key of keys) expect(await client.pexpiretime(key)).toBeGreaterThan(monthPeriodAt(Date.now()).endMs);
  });

  it('continue after a server forgot their scripts', async () => {
    const store = node();
    await store.decide(subjectWith({}), 1);
    await client.script('FLUSH');
    expect((await store.decide(subjectWith({}), 1)).used[KEY_MINUTE]).toBe(2);
  });

  it('seed the month from the database before admitting requests after Redis was emptied', async () => {
    const store = node();
    const subject = subjectWith({ accountMonth: 50 });
    await Promise.all(repeat(30, () => store.decide(subject, 1)));
    months.used = { account: 30, key: 30 };
    await client.flushdb();
    expect(admittedOf(await Promise.all(repeat(100, () => store.decide(subject, 1))))).toBe(20);
  });

  it('refund a cost after Redis was emptied', async () => {
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
    expect(countsByWindow((await store.decide(subject, 1)).used)).toMatchObject({ accountMonth: 6, keyMonth: 4 });
  });

  it('refund nothing to a month that was set after the request, even after Redis was emptied', async () => {
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
    expect(countsByWindow((await store.decide(subject, 1)).used)).toMatchObject({ accountMonth: 41, keyMonth: 41 });
  });
});

// Uses its own Redis, because MONITOR shows the commands of all clients.
describeWithOwnRedis('counters in a monitored Redis', () => {
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

  it('drop the second that leaves the minute window without reading the whole ring', async () => {
    const store = new RedisCounters(client, systemClock, new FixedMonths(), PASSING_SINK, PATIENT_DEADLINE_MS);
    const subject = subjectWith({}, { accountId: 'acc_busy', keyId: 'key_busy' });
    const names = [subject.accountCounterKey, subject.keyCounterKey];
    await store.decide(subject, 1);
    // Fills the ring as if every second had had ten requests.
    const last = Number((await client.time())[0]) - 1;
    const ring = repeat(BUCKETS, (slot) => [slot, 10]).flat();
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
    expect([used[ACCOUNT_MINUTE], used[KEY_MINUTE]]).toEqual(repeat(2, () => (BUCKETS - gone) * 10 + 1));
    await eventually('MONITOR reports the HMGET calls', () => read > 0);
    monitor.disconnect();
    // Allowed reads per counter: seven fields, the current bucket, the buckets that left the window, and two spare.
    expect(read).toBeLessThanOrEqual(2 * (8 + gone + 2));
  });
});
