/** Recovery from a lost counter store, and from a lost database behind a working store. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { systemClock } from '../../src/platform/clock.js';
import { Breaker } from '../../src/platform/breaker.js';
import { Degradation } from '../../src/quota/degradation.js';
import { LimiterSink } from '../../src/quota/limiter-sink.js';
import { LocalShare } from '../../src/quota/local-share.js';
import { MonthLedger } from '../../src/quota/usage/month-ledger.js';
import { ProcessCounters } from '../../src/quota/process/process-counters.js';
import { Limiter } from '../../src/quota/limiter.js';
import { Recovery } from '../../src/quota/recovery.js';
import { RedisCounters } from '../../src/quota/redis/redis-counters.js';
import { ShadowLimits } from '../../src/quota/shadow-limits.js';
import { ProcessThrottleWindows } from '../../src/quota/throttle-windows.js';
import { testDatabase } from '../support/database.js';
import { describeWithRedis } from '../support/describe-with.js';
import { eventually } from '../support/processes.js';
import { FixedMonths, subjectWith, UTC_MONTHS } from '../support/quotas.js';
import { emptyRedis, PATIENT_DEADLINE_MS } from '../support/timed-redis.js';
import { ACCOUNT_MINUTE, ACCOUNT_MONTH } from '../../src/platform/quotas/windows.js';

describeWithRedis('requests admitted without the store', () => {
  const log = pino({ level: 'silent' });
  let client: Awaited<ReturnType<typeof emptyRedis>>;
  let database: Awaited<ReturnType<typeof testDatabase>>;
  let months: FixedMonths;
  let limiter: Limiter;
  let degradation: Degradation;
  let recovery: Recovery;
  beforeEach(async () => {
    client = await emptyRedis();
    database = await testDatabase('sqlite');
    months = new FixedMonths();
    const local = new LocalShare(
      new ProcessCounters(systemClock, months, 'local'),
      months,
      () => ({ count: 1, rank: 0 }),
      systemClock,
    );
    const ledger = new MonthLedger(database.db, systemClock);
    const windows = new ProcessThrottleWindows(systemClock);
    degradation = new Degradation(new Breaker(systemClock), local, systemClock, log);
    const shadows = new ShadowLimits(systemClock, true);
    const sink = new LimiterSink(ledger, shadows, systemClock, degradation);
    const counters = new RedisCounters(client, systemClock, months, sink, PATIENT_DEADLINE_MS);
    recovery = new Recovery(counters, degradation, ledger, () => client.ping());
    limiter = new Limiter(counters, shadows, ledger, windows, systemClock, log, { degradation, recovery });
  });
  afterEach(async () => {
    client.disconnect();
    await database.close();
  });
  const usedOf = async (accountId: string) =>
    (await limiter.read(accountId, undefined, UTC_MONTHS)).used[ACCOUNT_MONTH];

  it('during a database outage do not keep other accounts from the store, and are counted later', async () => {
    const known = subjectWith({ accountMonth: 100 }, { accountId: 'acc_known', keyId: 'key_known' });
    const fresh = subjectWith({ accountMonth: 100 }, { accountId: 'acc_fresh', keyId: 'key_fresh' });
    expect((await limiter.decide(known, 1)).source).toBe('store');
    months.failure = new Error('no database');
    expect((await limiter.decide(fresh, 3)).source).toBe('local');
    await recovery.probeIfDue();
    expect(limiter.storeUp).toBe(true);
    expect((await limiter.decide(known, 1)).source).toBe('store');

    months.failure = undefined;
    await eventually('the new account is counted in the store', async () => {
      await recovery.probeIfDue();
      return (await usedOf('acc_fresh')) === 3;
    });
    expect(await usedOf('acc_known')).toBe(2);
  });

  it('are counted before the process ends, if the store is available', async () => {
    const fresh = subjectWith({ accountMonth: 100 }, { accountId: 'acc_fresh', keyId: 'key_fresh' });
    months.failure = new Error('no database');
    expect((await limiter.decide(fresh, 3)).source).toBe('local');
    months.failure = undefined;
    await recovery.replayRemaining();
    expect(await usedOf('acc_fresh')).toBe(3);
  });

  it('are counted when a probe reaches the store, before the store decides again', async () => {
    const subject = subjectWith({ accountMonth: 10 }, { accountId: 'acc_1', keyId: 'key_1' });
    expect((await limiter.decide(subject, 2)).source).toBe('store');
    degradation.onCallEnd(false);
    for (let request = 0; request < 5; request++) expect((await limiter.decide(subject, 1)).source).toBe('local');
    await eventually('the store is up', async () => {
      await recovery.probeIfDue();
      return limiter.storeUp;
    });
    const decision = await limiter.decide(subject, 1);
    expect([decision.source, decision.used[ACCOUNT_MONTH], decision.used[ACCOUNT_MINUTE]]).toEqual(['store', 8, 8]);
  });

  it('are refunded in the store after they were counted there', async () => {
    const subject = subjectWith({ accountMonth: 10 }, { accountId: 'acc_1', keyId: 'key_1' });
    await limiter.decide(subject, 1);
    degradation.onCallEnd(false);
    const [kept, returned] = [await limiter.decide(subject, 1), await limiter.decide(subject, 1)];
    expect([kept.source, returned.source]).toEqual(['local', 'local']);
    await eventually('the store is up', async () => {
      await recovery.probeIfDue();
      return limiter.storeUp;
    });
    expect(await usedOf('acc_1')).toBe(3);
    limiter.refund(subject, returned);
    await eventually('the cost is refunded', async () => (await usedOf('acc_1')) === 2);
  });

  it('update the last seen count and time when they are counted, after a set of the count', async () => {
    const subject = subjectWith({ accountMonth: 10 });
    await limiter.decide(subject, 1);
    const { lastSeenAtMs } = subject;
    degradation.onCallEnd(false);
    await limiter.decide(subject, 1);
    const set = await limiter.setMonthUsed('acc_1', undefined, UTC_MONTHS, 5);
    await eventually('the store is back', async () => {
      await recovery.probeIfDue();
      return limiter.storeUp;
    });
    expect(subject.lastSeen?.[ACCOUNT_MONTH]).toBe(6);
    expect(subject.lastSeenAtMs).toBeGreaterThan(lastSeenAtMs);
    expect(subject.lastSeenAtMs).toBeGreaterThanOrEqual(set.observedAtMs);
  });
});
