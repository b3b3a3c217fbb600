/** The tally finds the accounts that are refused most, among any number of others, in bounded memory. */
import { describe, expect, it } from '@jest/globals';

import { WINDOW_NAMES } from '../../platform/quotas/windows.js';
import { RefusalTally } from './refusal-tally.js';
import { bitsOf } from '../../../test/support/quotas.js';

const refuse = (tally: RefusalTally, account: string, times: number, violated = bitsOf('key-minute')): void => {
  for (let time = 0; time < times; time++) tally.recordRefusal(account, violated);
};
const accountsOf = (tally: RefusalTally, most: number) =>
  tally
    .rankAccounts(most)
    .flatMap(({ accountId, policy, count }) => (count > 0 ? [`${accountId ?? 'other'} ${policy} ${count}`] : []));

describe('the tally of refusals', () => {
  it('ranks accounts by refusals, splits them by policy, and sums up all others', () => {
    const tally = new RefusalTally();
    refuse(tally, 'acc_a', 5);
    refuse(tally, 'acc_b', 7, bitsOf('account-month'));
    refuse(tally, 'acc_b', 2, bitsOf('key-minute', 'key-month'));
    refuse(tally, 'acc_c', 1);
    refuse(tally, 'acc_d', 2, bitsOf('key-month'));
    expect(accountsOf(tally, 2)).toEqual([
      'acc_b key-minute 2',
      'acc_b account-month 7',
      'acc_b key-month 2',
      'acc_a key-minute 5',
      'other key-minute 1',
      'other key-month 2',
    ]);
    expect(tally.rankAccounts(0).every(({ accountId }) => accountId === undefined)).toBe(true);
  });

  it('reports 0 for the others if there were no refusals', () => {
    expect(new RefusalTally().rankAccounts(3)).toEqual(
      WINDOW_NAMES.map((policy) => ({ accountId: undefined, policy, count: 0 })),
    );
  });

  it('covers the last five minutes only', () => {
    const tally = new RefusalTally();
    refuse(tally, 'acc_a', 3);
    for (let minute = 0; minute < 5; minute++) {
      tally.startMinute();
      refuse(tally, 'acc_b', 1);
    }
    expect(accountsOf(tally, 5)).toEqual(['acc_b key-minute 5', 'acc_a key-minute 3']);
    tally.startMinute();
    expect(accountsOf(tally, 5)).toEqual(['acc_b key-minute 5']);
    for (let minute = 0; minute < 5; minute++) tally.startMinute();
    expect(accountsOf(tally, 5)).toEqual([]);
  });

  it('keeps at most 2,000 accounts, loses no refusal, and finds the most refused one', () => {
    const tally = new RefusalTally();
    for (let round = 0; round < 3; round++) {
      for (let account = 0; account < 20_000; account++) {
        tally.recordRefusal(`acc_${account}`, bitsOf('key-minute'));
        if (account % 10 === 0) tally.recordRefusal('acc_busy', bitsOf('key-minute'));
      }
    }
    const rows = tally.rankAccounts(1);
    expect(rows[0]).toEqual({ accountId: 'acc_busy', policy: 'key-minute', count: 6_000 });
    expect(rows.reduce((sum, { count }) => sum + count, 0)).toBe(66_000);
    expect(new Set(tally.rankAccounts(Infinity).map(({ accountId }) => accountId)).size).toBeLessThanOrEqual(2_001);
  });
});
