/** Guarantees of every counter store about time: months and their start, retry times, and clocks that are set back. */
import { describe, expect, it } from '@jest/globals';
import { monthPeriodAt } from '../../src/quota/model/month-period.js';

import { admittedOf, describeCounterStores, START_MS, repeat } from '../support/counter-stores.js';
import { bitsOf, countsByWindow, subjectWith, UTC_MONTHS } from '../support/quotas.js';

const NONE = { keyMinute: 0, accountMinute: 0, accountMonth: 0, keyMonth: 0, accountDay: 0, keyDay: 0 };

describeCounterStores((under) => {
  describe('a counter that does not exist yet', () => {
    it('is seeded with the month usage in the database', async () => {
      under().months.used = { account: 40, key: 10 };
      const { used, period } = await under().decide(subjectWith({}));
      expect(countsByWindow(used)).toEqual({
        keyMinute: 1,
        accountMinute: 1,
        accountMonth: 41,
        keyMonth: 11,
        accountDay: 1,
        keyDay: 1,
      });
      expect(under().months.asked).toEqual([{ accountId: 'acc_1', keyId: 'key_1', label: period.label }]);
    });

    it('refuses the first request when the database says that the month is used up', async () => {
      under().months.used = { account: 100, key: 10 };
      const decision = await under().decide(subjectWith({ accountMonth: 100 }));
      expect(decision).toMatchObject({ admitted: false, violated: bitsOf('account-month') });
    });

    it('reads the database once for 200 concurrent requests', async () => {
      under().months.used = { account: 40, key: 10 };
      const subject = subjectWith({ accountMonth: 100 });
      expect(admittedOf(await under().decideAll(subject, 200))).toBe(60);
      await under().decideEach(subject, 10);
      expect(under().months.asked).toHaveLength(1);
    });

    it('is not created during a database outage, and no request is decided or counted', async () => {
      under().months.failure = new Error('the database is away');
      const subject = subjectWith({ keyMinute: 2 });
      await expect(under().decide(subject)).rejects.toThrow('the database is away');
      under().months.failure = undefined;
      under().months.used = { account: 40, key: 10 };
      expect(await under().usedBy(subject)).toEqual({
        keyMinute: 0,
        accountMinute: 0,
        accountMonth: 40,
        keyMonth: 10,
        accountDay: 0,
        keyDay: 0,
      });
      expect(admittedOf(await under().decideEach(subject, 5))).toBe(2);
    });

    it('leaves existing counters unchanged: a new key does not reset its account', async () => {
      await under().decideEach(subjectWith({}), 5);
      under().months.used = { account: 1_000, key: 7 };
      const { used } = await under().decide(subjectWith({}, { keyId: 'key_2' }));
      expect(countsByWindow(used)).toEqual({
        keyMinute: 1,
        accountMinute: 6,
        accountMonth: 6,
        keyMonth: 8,
        accountDay: 6,
        keyDay: 1,
      });
    });

    it('is read from the database, with or without a key', async () => {
      under().months.used = { account: 40, key: 10 };
      expect(countsByWindow((await under().store.read('acc_1', undefined, UTC_MONTHS)).used)).toEqual({
        ...NONE,
        accountMonth: 40,
      });
      expect(countsByWindow((await under().store.read('acc_1', 'key_1', UTC_MONTHS)).used)).toEqual({
        ...NONE,
        accountMonth: 40,
        keyMonth: 10,
      });
    });
  });

  describe('a new month', () => {
    it('starts at zero in its first millisecond, without reading the database', async () => {
      const { endMs, label } = monthPeriodAt(START_MS);
      const subject = subjectWith({ accountMonth: 5 });
      await under().decideEach(subject, 5);
      under().at(endMs - 1);
      expect(await under().decide(subject)).toMatchObject({ admitted: false, retryAtMs: endMs, period: { label } });
      under().clock.advance(1);
      expect(await under().usedBy(subject)).toEqual(NONE);
      const first = await under().decide(subject);
      expect(first).toMatchObject({ admitted: true, period: { startMs: endMs } });
      expect(countsByWindow(first.used)).toMatchObject({ accountMonth: 1, keyMonth: 1 });
      expect(under().months.asked).toHaveLength(1);
    });

    it('does not reset the minute', async () => {
      under().at(monthPeriodAt(START_MS).endMs - 500);
      const subject = subjectWith({ keyMinute: 5 });
      await under().decideEach(subject, 4);
      under().clock.advance(1_000);
      expect(admittedOf(await under().decideEach(subject, 5))).toBe(1);
      expect(await under().usedBy(subject)).toEqual({
        keyMinute: 5,
        accountMinute: 5,
        accountMonth: 1,
        keyMonth: 1,
        accountDay: 1,
        keyDay: 1,
      });
    });

    it('starts for every key, even one without requests since', async () => {
      const [first, second] = ['key_1', 'key_2'].map((keyId) => subjectWith({ keyMonth: 5 }, { keyId }));
      await under().decideEach(first!, 5);
      await under().decideEach(second!, 5);
      under().clock.advance(40 * 86_400_000);
      await under().decideEach(first!, 2);
      expect(await under().usedBy(second!)).toEqual({
        keyMinute: 0,
        accountMinute: 2,
        accountMonth: 2,
        keyMonth: 0,
        accountDay: 2,
        keyDay: 0,
      });
      expect(admittedOf(await under().decideEach(second!, 9))).toBe(5);
    });
  });

  describe('the retry time', () => {
    const cameAt = [0, 0, 3_100, 3_100, 9_999, 25_000, 59_750];

    it.each([1, 2, 3, 5, 7])('for a cost of %i is the first millisecond that admits the request', async (cost) => {
      const subject = subjectWith({ keyMinute: 7 });
      for (const ms of cameAt) {
        under().at(START_MS + ms);
        await under().decide(subject);
      }
      const refused = await under().decide(subject, cost);
      expect(refused.admitted).toBe(false);
      under().at(refused.retryAtMs - 1);
      expect((await under().decide(subject, cost)).admitted).toBe(false);
      under().clock.advance(1);
      expect((await under().decide(subject, cost)).admitted).toBe(true);
    });

    it('is when the last of several violated windows has room', async () => {
      const subject = subjectWith({ keyMinute: 1, accountMinute: 2 });
      await under().decide(subjectWith({}, { keyId: 'key_2' }));
      under().clock.advance(30_000);
      await under().decide(subject);
      const refused = await under().decide(subject);
      expect(refused.violated).toBe(bitsOf('key-minute', 'account-minute'));
      under().at(refused.retryAtMs - 1);
      expect((await under().decide(subject)).admitted).toBe(false);
      under().clock.advance(1);
      expect((await under().decide(subject)).admitted).toBe(true);
    });

    it('is the same for all requests that were refused at once', async () => {
      const decisions = await under().decideAll(subjectWith({ keyMinute: 5 }), 20);
      const instants = new Set(decisions.filter(({ admitted }) => !admitted).map(({ retryAtMs }) => retryAtMs));
      expect([...instants]).toEqual([(Math.floor(START_MS / 1_000) + 61) * 1_000]);
    });

    it('is the end of the month when the month is used up, even if the minute has room earlier', async () => {
      const subject = subjectWith({ keyMinute: 1, accountMonth: 1 });
      await under().decide(subject);
      expect((await under().decide(subject)).retryAtMs).toBe(monthPeriodAt(START_MS).endMs);
    });

    it('is 60 to 61 seconds after the request that fills the window', async () => {
      for (const offsetMs of [0, 1, 500, 749, 750, 999]) {
        const subject = subjectWith({ keyMinute: 1 }, { keyId: `key_${offsetMs}` });
        under().clock.advance(offsetMs);
        const admitted = await under().decide(subject);
        const waitMs = (await under().decide(subject)).retryAtMs - admitted.nowMs;
        expect(waitMs).toBeGreaterThan(60_000);
        expect(waitMs).toBeLessThanOrEqual(61_000);
      }
    });
  });

  describe('reading', () => {
    it('counts nothing, and returns the same values as the last decision', async () => {
      const subject = subjectWith({});
      const [, last] = await under().decideEach(subject, 2);
      for (const reading of await Promise.all(repeat(20, () => under().store.read('acc_1', 'key_1', UTC_MONTHS)))) {
        expect(reading).toMatchObject({
          used: last!.used,
          period: last!.period,
          nowMs: START_MS,
          keyMinuteResetMs: last!.keyMinuteResetMs,
          accountMinuteResetMs: last!.accountMinuteResetMs,
        });
      }
    });

    it('returns as the reset the millisecond at which the minute count falls', async () => {
      const subject = subjectWith({});
      await under().decide(subject);
      under().clock.advance(5_000);
      await under().decide(subject);
      const { keyMinuteResetMs } = await under().store.read('acc_1', 'key_1', UTC_MONTHS);
      under().at(keyMinuteResetMs - 1);
      expect((await under().usedBy(subject)).keyMinute).toBe(2);
      under().clock.advance(1);
      expect((await under().usedBy(subject)).keyMinute).toBe(1);
    });

    it('returns no reset when nothing is used', async () => {
      expect(await under().store.read('acc_1', 'key_1', UTC_MONTHS)).toMatchObject({
        keyMinuteResetMs: 0,
        accountMinuteResetMs: 0,
      });
    });
  });

  describe('a clock that is set back', () => {
    it.each([10_000, 3_600_000])('by %i ms does not let a key exceed its minute limit', async (backMs) => {
      const subject = subjectWith({ keyMinute: 5 });
      await under().decideEach(subject, 4);
      under().clock.advance(-backMs);
      expect(admittedOf(await under().decideEach(subject, 5))).toBe(1);
      expect((await under().usedBy(subject)).keyMinute).toBe(5);
    });

    it.each([10_000, 3_600_000])(
      'by %i ms does not block a key for longer than that time plus one minute',
      async (backMs) => {
        const subject = subjectWith({ keyMinute: 5 });
        await under().decideEach(subject, 5);
        under().clock.advance(-backMs);
        await under().decide(subject);
        under().clock.advance(backMs > 61_000 ? 61_000 : 61_000 + backMs);
        expect(admittedOf(await under().decideEach(subject, 9))).toBe(5);
      },
    );
  });
});
