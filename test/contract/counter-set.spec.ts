/** Guarantees of every counter store when an operator sets the count of a month. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { systemClock } from '../../src/platform/clock.js';
import { RedisCounters } from '../../src/quota/redis/redis-counters.js';
import { connectRedis, redisReady } from '../../src/stores/redis/connect.js';
import { admittedOf, describeCounterStores, START_MS } from '../support/counter-stores.js';
import { describeWithOwnRedis } from '../support/describe-with.js';
import { FixedMonths, countsByWindow, subjectWith, UTC_MONTHS } from '../support/quotas.js';
import { startRedis, type RedisServer } from '../support/redis.js';
import { ACCOUNT_MONTH } from '../../src/platform/quotas/windows.js';

const MOST = 999_999_999_999_999;

describeCounterStores((under) => {
  const set = (used: number, keyId?: string) => under().store.setMonthUsed('acc_1', keyId, UTC_MONTHS, used);

  describe('setting the count of a month', () => {
    it('changes the month of the account or of the key, and no minute or day', async () => {
      const subject = subjectWith({});
      await under().decideEach(subject, 7);
      expect(await set(100)).toMatchObject({ before: 7, period: { label: 21_001_101 } });
      expect(await under().usedBy(subject)).toEqual({
        keyMinute: 7,
        accountMinute: 7,
        accountMonth: 100,
        keyMonth: 7,
        accountDay: 7,
        keyDay: 7,
      });
      expect(await set(3, 'key_1')).toMatchObject({ before: 7 });
      expect(await under().usedBy(subject)).toEqual({
        keyMinute: 7,
        accountMinute: 7,
        accountMonth: 100,
        keyMonth: 3,
        accountDay: 7,
        keyDay: 7,
      });
      expect(await set(0)).toMatchObject({ before: 100, used: 0 });
      expect(countsByWindow((await under().decide(subject)).used)).toMatchObject({
        accountMonth: 1,
        keyMonth: 4,
        keyMinute: 8,
      });
    });

    it('takes effect at once: requests over the limit are refused, and others are admitted', async () => {
      const subject = subjectWith({ accountMonth: 5 });
      expect(admittedOf(await under().decideEach(subject, 9))).toBe(5);
      await set(3);
      expect(admittedOf(await under().decideEach(subject, 9))).toBe(2);
      await set(MOST);
      const refused = await under().decide(subject);
      expect([refused.admitted, refused.used[ACCOUNT_MONTH]]).toEqual([false, MOST]);
      await set(0);
      expect(admittedOf(await under().decideEach(subject, 9))).toBe(5);
    });

    it('creates a counter that does not exist yet', async () => {
      expect(await set(40)).toMatchObject({ before: 0 });
      expect(await set(30, 'key_1')).toMatchObject({ before: 0 });
      expect(countsByWindow((await under().decide(subjectWith({}))).used)).toEqual({
        keyMinute: 1,
        accountMinute: 1,
        accountMonth: 41,
        keyMonth: 31,
        accountDay: 1,
        keyDay: 1,
      });
    });

    it('applies only until the month ends', async () => {
      const subject = subjectWith({ accountMonth: 5 });
      await under().decideEach(subject, 5);
      under().at(Date.parse('2100-12-01T00:00:00Z'));
      expect(await set(2)).toMatchObject({ before: 0, period: { label: 21_001_201 } });
      expect(admittedOf(await under().decideEach(subject, 9))).toBe(3);
      under().at(Date.parse('2101-01-01T00:00:00Z'));
      expect(admittedOf(await under().decideEach(subject, 9))).toBe(5);
    });

    it('lets later requests be refunded, and ignores refunds of earlier ones in that month', async () => {
      const subject = subjectWith({});
      const before = await under().decide(subject, 3);
      under().clock.advance(1);
      await set(10);
      under().clock.advance(1);
      const after = await under().decide(subject, 2);
      await under().store.refund(subject, before);
      expect(await under().usedBy(subject)).toMatchObject({ accountMonth: 12, accountMinute: 2, keyMonth: 2 });
      await under().store.refund(subject, after);
      expect(await under().usedBy(subject)).toMatchObject({ accountMonth: 10, accountMinute: 0, keyMonth: 0 });
    });

    it('adds exactly the requests that are admitted after it, during concurrent requests', async () => {
      const subject = subjectWith({});
      const [first, made, rest] = await Promise.all([
        under().decideAll(subject, 150),
        set(1_000_000),
        under().decideAll(subject, 150),
      ]);
      const after = [...first, ...rest].filter(({ used }) => used[ACCOUNT_MONTH] > 1_000_000);
      expect((await under().usedBy(subject)).accountMonth).toBe(1_000_000 + after.length);
      expect(made.before + after.length).toBe(300);
      expect(await under().usedBy(subject)).toMatchObject({ accountMinute: 300, keyMonth: 300 });
    });

    it('returns when it was observed, no earlier than previous decisions', async () => {
      const seen = await under().decide(subjectWith({}));
      const { observedAtMs } = await set(1);
      expect(observedAtMs).toBeGreaterThan(seen.nowMs - 1);
      expect(observedAtMs).toBeLessThan(START_MS + 1_000);
    });
  });
});

describeWithOwnRedis('a Redis that was frozen', () => {
  let redis: RedisServer;
  let client: ReturnType<typeof connectRedis>;
  beforeEach(async () => {
    redis = await startRedis();
    client = connectRedis(redis.url, 'test', { warn: () => {} });
    await redisReady(client, 5_000);
  });
  afterEach(async () => {
    client.disconnect();
    await redis.stop();
  });

  it('does not set the count after resuming, when the caller has given up', async () => {
    const counters = new RedisCounters(client, systemClock, new FixedMonths());
    const subject = subjectWith({});
    for (let request = 0; request < 5; request++) await counters.decide(subject, 1);
    const calls: (string | undefined)[] = [];
    const { evalsha } = client;
    // Freezes Redis between the call that reads the time and the call that sets the count.
    client.evalsha = (async (...args: Parameters<typeof evalsha>) => {
      calls.push(String(args[0]));
      if (calls.length === 2) redis.pause();
      return evalsha.apply(client, args);
    }) as typeof evalsha;
    await counters.read('acc_1', 'key_1', UTC_MONTHS);
    calls.length = 0;
    await expect(counters.setMonthUsed('acc_1', undefined, UTC_MONTHS, 0)).rejects.toThrow(/240 ms|timed out/i);
    redis.resume();
    await redisReady(client, 5_000);
    client.evalsha = evalsha;
    expect((await counters.read('acc_1', 'key_1', UTC_MONTHS)).used[ACCOUNT_MONTH]).toBe(5);
  });
});
