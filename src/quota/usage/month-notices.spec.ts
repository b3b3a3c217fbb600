/**
 * Tests which notices are due for given counts. test/contract/month-notices.spec.ts tests that each is given once,
 * across processes and restarts.
 */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { subjectWith } from '../../../test/support/quotas.js';
import { noticesDue, thresholdsReached } from './month-notices.js';
import { monthPeriodAt } from '../model/month-period.js';

const NOVEMBER = monthPeriodAt(Date.parse('2026-11-20T10:00:00Z'), 'Europe/Vienna', 31);
const count = (used: number, month = NOVEMBER.label) => ({ month, used });

describe('thresholds', () => {
  it.each([
    [10_000, 7_999, []],
    [10_000, 8_000, [80]],
    [10_000, 9_999, [80]],
    [10_000, 10_000, [80, 100]],
    [10_000, 25_000, [80, 100]],
    [3, 2, []],
    [3, 3, [80, 100]],
    [1, 1, [80, 100]],
    [0, 0, []],
    [0, 5, []],
    [Infinity, 1e15, []],
  ])('a limit of %d with %d used has reached %j percent', (limit, used, reached) => {
    expect(thresholdsReached(limit, used)).toEqual(reached);
  });

  it('are reached exactly as integer arithmetic says, for any limit', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1_000_000_000 }),
        fc.integer({ min: 0, max: 2_000_000_000 }),
        (limit, used) => {
          const exact = [80, 100].filter((percent) => BigInt(used) * 100n >= BigInt(limit) * BigInt(percent));
          expect(thresholdsReached(limit, used)).toEqual(exact);
        },
      ),
    );
  });
});

describe('notices', () => {
  const subject = (accountMonth: number, keyMonth: number) =>
    subjectWith({ accountMonth, keyMonth }, { timeZone: 'Europe/Vienna', billingDay: 31 });
  const due = (of: ReturnType<typeof subject>, account: number, key: number) =>
    noticesDue(of, NOVEMBER, { account: count(account), key: count(key) });

  it('say what is used up and when it resets, in the time zone of the account', () => {
    expect(due(subject(100, 50), 80, 10).map(({ event }) => event)).toEqual([
      {
        type: 'quota.threshold_reached',
        accountId: 'acc_1',
        data: {
          account_id: 'acc_1',
          api_key_id: null,
          policy: 'account-month',
          threshold_percent: 80,
          limit: 100,
          used: 80,
          period_start: '2026-10-31T00:00:00+01:00',
          period_end: '2026-11-30T00:00:00+01:00',
          resets_at: '2026-11-30T00:00:00+01:00',
        },
        dedupeKey: 'quota.threshold_reached/acc_1//account-month/20261031/80',
      },
    ]);
  });

  it('are due for account and key, each threshold separately', () => {
    expect(due(subject(100, 50), 90, 60).map(({ event }) => event.dedupeKey)).toEqual([
      'quota.threshold_reached/acc_1//account-month/20261031/80',
      'quota.threshold_reached/acc_1/key_1/key-month/20261031/80',
      'quota.threshold_reached/acc_1/key_1/key-month/20261031/100',
    ]);
  });

  it('are not due again once given, until another month', () => {
    const of = subject(100, Infinity);
    const [first] = due(of, 85, 85);
    Object.assign(of.reachedLimits(), { noticed: first!.bit, noticedMonth: NOVEMBER.label });
    expect(due(of, 99, 99)).toEqual([]);
    expect(due(of, 100, 100).map(({ event }) => event.data.threshold_percent)).toEqual([100]);
    of.reachedLimits().noticedMonth = NOVEMBER.label - 100;
    expect(due(of, 85, 85)).toHaveLength(1);
  });

  it('say nothing about counts of another month', () => {
    const counts = { account: count(100, 20_261_201), key: count(100, 20_261_201) };
    expect(noticesDue(subject(100, 100), NOVEMBER, counts)).toEqual([]);
  });
});
