/** Guarantees of every counter store: one decision for all windows, exact under concurrent requests. */
import { describe, expect, it } from '@jest/globals';
import { monthPeriodAt } from '../../src/quota/model/month-period.js';

import { admittedOf, describeCounterStores, START_MS, repeat } from '../support/counter-stores.js';
import { bitsOf, countsByWindow, subjectWith, UTC_MONTHS } from '../support/quotas.js';
import { ACCOUNT_MONTH, KEY_MINUTE } from '../../src/platform/quotas/windows.js';

const NONE = { keyMinute: 0, accountMinute: 0, accountMonth: 0, keyMonth: 0, accountDay: 0, keyDay: 0 };

describeCounterStores((under) => {
  describe('one decision for all windows', () => {
    it.each([
      ['key-minute', { keyMinute: 3 }, bitsOf('key-minute')],
      ['account-minute', { accountMinute: 3 }, bitsOf('account-minute')],
      ['account-month', { accountMonth: 3 }, bitsOf('account-month')],
      ['key-month', { keyMonth: 3 }, bitsOf('key-month')],
    ])('counts a request in all windows or, when %s refuses it, in none', async (_name, tight, bit) => {
      const wide = { keyMinute: 100, accountMinute: 100, accountMonth: 100, keyMonth: 100 };
      const subject = subjectWith({ ...wide, ...tight });
      const decisions = await under().decideEach(subject, 50);
      expect(decisions.map(({ admitted }) => admitted)).toEqual([...repeat(3, () => true), ...repeat(47, () => false)]);
      expect(decisions.map(({ violated }) => violated)).toEqual([...repeat(3, () => 0), ...repeat(47, () => bit)]);
      expect(await under().usedBy(subject)).toEqual({
        keyMinute: 3,
        accountMinute: 3,
        accountMonth: 3,
        keyMonth: 3,
        accountDay: 3,
        keyDay: 3,
      });
    });

    it('names every window that refused the request', async () => {
      const subject = subjectWith({ keyMinute: 2, accountMinute: 3, accountMonth: 2, keyMonth: 2 });
      await under().decideEach(subject, 2);
      expect((await under().decide(subject)).violated).toBe(bitsOf('key-minute', 'account-month', 'key-month'));
    });

    it('returns with each decision the usage after it', async () => {
      const subject = subjectWith({ keyMinute: 3 });
      const decisions = await under().decideEach(subject, 5);
      expect(decisions.map(({ used }) => used[KEY_MINUTE])).toEqual([1, 2, 3, 3, 3]);
      expect(decisions.map(({ used }) => used[ACCOUNT_MONTH])).toEqual([1, 2, 3, 3, 3]);
    });

    it('counts the keys of an account separately, and together for the account', async () => {
      const [first, second] = ['key_1', 'key_2'].map((keyId) =>
        subjectWith({ keyMinute: 3, accountMinute: 5 }, { keyId }),
      );
      expect(admittedOf(await under().decideEach(first!, 5))).toBe(3);
      expect(admittedOf(await under().decideEach(second!, 5))).toBe(2);
      expect(await under().usedBy(second!)).toEqual({
        keyMinute: 2,
        accountMinute: 5,
        accountMonth: 5,
        keyMonth: 2,
        accountDay: 5,
        keyDay: 2,
      });
    });

    it('counts accounts separately', async () => {
      const [first, second] = ['1', '2'].map((id) =>
        subjectWith({ accountMinute: 3 }, { accountId: `acc_${id}`, keyId: `key_${id}` }),
      );
      expect(admittedOf(await under().decideEach(first!, 5))).toBe(3);
      expect(admittedOf(await under().decideEach(second!, 5))).toBe(3);
    });
  });

  describe('concurrent requests', () => {
    it('are admitted exactly up to the limit', async () => {
      const subject = subjectWith({ keyMinute: 100 });
      const decisions = await under().decideAll(subject, 500);
      expect(admittedOf(decisions)).toBe(100);
      expect(await under().usedBy(subject)).toEqual({
        keyMinute: 100,
        accountMinute: 100,
        accountMonth: 100,
        keyMonth: 100,
        accountDay: 100,
        keyDay: 100,
      });
    });

    it('are admitted exactly up to the account limit over ten keys', async () => {
      const subjects = Array.from({ length: 10 }, (_, key) =>
        subjectWith({ accountMonth: 100 }, { keyId: `key_${key}` }),
      );
      const decisions = await Promise.all(subjects.map((subject) => under().decideAll(subject, 50)));
      expect(admittedOf(decisions.flat())).toBe(100);
      const used = await Promise.all(subjects.map((subject) => under().usedBy(subject)));
      expect(used.reduce((sum, { keyMonth }) => sum + keyMonth, 0)).toBe(100);
      expect(used[0]?.accountMonth).toBe(100);
    });

    it('with different costs never exceed the limit, and only admitted costs count', async () => {
      const subject = subjectWith({ keyMinute: 100 });
      const decisions = await Promise.all(
        repeat(40, () => [1, 3, 7])
          .flat()
          .map((cost) => under().store.decide(subject, cost)),
      );
      const admittedCost = decisions.reduce((sum, { admitted, cost }) => sum + (admitted ? cost : 0), 0);
      expect(admittedCost).toBeLessThanOrEqual(100);
      expect(admittedCost).toBeGreaterThan(93);
      expect((await under().usedBy(subject)).keyMinute).toBe(admittedCost);
    });

    it('are numbered without gaps, so no two admitted requests see the same count', async () => {
      const decisions = await under().decideAll(subjectWith({ keyMinute: 100 }), 150);
      const counts = decisions.filter(({ admitted }) => admitted).map(({ used }) => used[KEY_MINUTE]);
      expect(counts.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, index) => index + 1));
    });
  });

  describe('a cost', () => {
    it('is counted in full or not at all, and a cheaper request may still fit', async () => {
      const subject = subjectWith({ keyMinute: 10 });
      const decisions = await under().decideEach(subject, 3, 4);
      expect(decisions.map(({ admitted }) => admitted)).toEqual([true, true, false]);
      expect((await under().decide(subject, 3)).admitted).toBe(false);
      expect((await under().decide(subject, 2)).admitted).toBe(true);
      expect((await under().usedBy(subject)).accountMonth).toBe(10);
    });

    it('of zero counts nothing, and is admitted even when all windows are used up', async () => {
      const subject = subjectWith({ keyMinute: 1, accountMonth: 1 });
      await under().decide(subject);
      for (const decision of await under().decideEach(subject, 20, 0)) {
        expect(decision).toMatchObject({ admitted: true, violated: 0 });
        expect(countsByWindow(decision.used)).toMatchObject({ keyMinute: 1, accountMonth: 1 });
      }
      expect(await under().usedBy(subject)).toEqual({
        keyMinute: 1,
        accountMinute: 1,
        accountMonth: 1,
        keyMonth: 1,
        accountDay: 1,
        keyDay: 1,
      });
    });

    it('greater than the limit is never admitted and never counted', async () => {
      const subject = subjectWith({ keyMinute: 10 });
      expect((await under().decide(subject, 11)).admitted).toBe(false);
      expect(await under().usedBy(subject)).toEqual(NONE);
    });
  });

  describe('a refund', () => {
    it('restores every window exactly', async () => {
      const subject = subjectWith({ keyMinute: 10 });
      const [, second] = await under().decideEach(subject, 2, 5);
      expect((await under().decide(subject)).admitted).toBe(false);
      await under().store.refund(subject, second!);
      expect(await under().usedBy(subject)).toEqual({
        keyMinute: 5,
        accountMinute: 5,
        accountMonth: 5,
        keyMonth: 5,
        accountDay: 5,
        keyDay: 5,
      });
      expect(admittedOf(await under().decideEach(subject, 10))).toBe(5);
    });

    it('never makes a count negative', async () => {
      const subject = subjectWith({ keyMinute: 10 });
      const decision = await under().decide(subject, 3);
      await under().store.refund(subject, decision);
      await under().store.refund(subject, decision);
      expect(await under().usedBy(subject)).toEqual(NONE);
      expect(admittedOf(await under().decideEach(subject, 12))).toBe(10);
    });

    it('changes the month, but not a minute that the request has left', async () => {
      const subject = subjectWith({});
      const decision = await under().decide(subject, 3);
      under().clock.advance(61_000);
      await under().decideEach(subject, 1, 4);
      await under().store.refund(subject, decision);
      expect(await under().usedBy(subject)).toEqual({
        keyMinute: 4,
        accountMinute: 4,
        accountMonth: 4,
        keyMonth: 4,
        accountDay: 4,
        keyDay: 4,
      });
    });

    it('does not change the next month', async () => {
      under().at(monthPeriodAt(START_MS).endMs - 500);
      const subject = subjectWith({});
      const decision = await under().decide(subject, 3);
      under().clock.advance(1_000);
      await under().decideEach(subject, 1, 4);
      await under().store.refund(subject, decision);
      expect(await under().usedBy(subject)).toEqual({
        keyMinute: 4,
        accountMinute: 4,
        accountMonth: 4,
        keyMonth: 4,
        accountDay: 4,
        keyDay: 4,
      });
    });

    it('does not create a counter', async () => {
      const subject = subjectWith({ keyMinute: 10 });
      const decision = await under().decide(subject, 3);
      const other = subjectWith({}, { accountId: 'acc_2', keyId: 'key_2' });
      await under().store.refund(other, decision);
      under().months.used = { account: 40, key: 10 };
      expect(await under().usedBy(other)).toEqual({
        keyMinute: 0,
        accountMinute: 0,
        accountMonth: 40,
        keyMonth: 10,
        accountDay: 0,
        keyDay: 0,
      });
    });

    it('moves the reset to the next request that still counts', async () => {
      const subject = subjectWith({});
      const decision = await under().decide(subject);
      under().clock.advance(20_000);
      const later = await under().decide(subject);
      await under().store.refund(subject, decision);
      const { keyMinuteResetMs, accountMinuteResetMs } = await under().store.read('acc_1', 'key_1', UTC_MONTHS);
      const leavesMs = (Math.floor(later.nowMs / 1_000) + 61) * 1_000;
      expect([keyMinuteResetMs, accountMinuteResetMs]).toEqual([leavesMs, leavesMs]);
    });
  });

  describe('a limit', () => {
    it('of zero admits nothing', async () => {
      const subject = subjectWith({ keyMinute: 0, accountMonth: 0 });
      expect(admittedOf(await under().decideAll(subject, 20))).toBe(0);
      expect(await under().usedBy(subject)).toEqual(NONE);
    });

    it('that is absent never refuses, and the usage is still counted', async () => {
      const subject = subjectWith({});
      expect(admittedOf(await under().decideAll(subject, 300, 1_000_000))).toBe(300);
      expect((await under().usedBy(subject)).accountMonth).toBe(300_000_000);
    });

    it('of the largest configurable size is counted exactly up to its end', async () => {
      const most = 999_999_999_999_999;
      under().months.used = { account: most - 2, key: most - 5 };
      const subject = subjectWith({ accountMonth: most, keyMonth: most, keyMinute: most });
      const decisions = await under().decideEach(subject, 4);
      expect(decisions.map(({ admitted }) => admitted)).toEqual([true, true, false, false]);
      expect(await under().usedBy(subject)).toMatchObject({ accountMonth: most, keyMonth: most - 3 });
    });

    it('lowered below the usage refuses until enough has left the window, and keeps the count', async () => {
      await under().decideEach(subjectWith({ keyMinute: 10 }), 4);
      under().clock.advance(10_000);
      await under().decideEach(subjectWith({ keyMinute: 10 }), 4);
      const lowered = subjectWith({ keyMinute: 5 });
      const refused = await under().decide(lowered);
      expect([refused.admitted, refused.used[KEY_MINUTE]]).toEqual([false, 8]);
      under().at(refused.retryAtMs - 1);
      expect((await under().decide(lowered)).admitted).toBe(false);
      under().clock.advance(1);
      expect((await under().decide(lowered)).admitted).toBe(true);
    });

    it('that is raised admits more requests at once', async () => {
      await under().decideEach(subjectWith({ keyMinute: 2, accountMonth: 2 }), 3);
      const raised = subjectWith({ keyMinute: 5, accountMonth: 5 });
      expect(admittedOf(await under().decideEach(raised, 9))).toBe(3);
    });
  });
});
