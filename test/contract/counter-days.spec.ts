/** Daily limits count calendar days in the account's time zone, in every counter store. */
import { describe, expect, it } from '@jest/globals';
import { DateTime } from 'luxon';
import { calendarOf } from '../../src/quota/model/month-period.js';
import { admittedOf, describeCounterStores, START_MS } from '../support/counter-stores.js';
import { bitsOf, countsByWindow, subjectWith, UTC_MONTHS } from '../support/quotas.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

describeCounterStores((under) => {
  const days = async (subject = subjectWith({})) => {
    const { accountDay, keyDay, accountMonth, keyMonth } = await under().usedBy(subject);
    return { accountDay, keyDay, accountMonth, keyMonth };
  };

  it('refuse requests over a daily limit until midnight, and do not count refused requests', async () => {
    const subject = subjectWith({ keyDay: 3 });
    const decisions = await under().decideAll(subject, 10);
    expect(admittedOf(decisions)).toBe(3);
    const { endMs } = UTC_MONTHS.at(START_MS).day;
    const refused = await under().decide(subject);
    expect(refused).toMatchObject({ admitted: false, violated: bitsOf('key-day'), retryAtMs: endMs });
    expect(await days(subject)).toEqual({ accountDay: 3, keyDay: 3, accountMonth: 3, keyMonth: 3 });
    under().at(endMs - 1);
    expect(await under().decide(subject)).toMatchObject({ admitted: false, retryAtMs: endMs });
    under().at(endMs);
    expect(admittedOf(await under().decideEach(subject, 5))).toBe(3);
    expect(await days(subject)).toEqual({ accountDay: 3, keyDay: 3, accountMonth: 6, keyMonth: 6 });
  });

  it('apply the daily limit of an account to all of its keys together', async () => {
    const [one, other] = ['key_1', 'key_2'].map((keyId) => subjectWith({ accountDay: 5 }, { keyId }));
    await under().decideEach(one!, 4);
    const decisions = await under().decideEach(other!, 3);
    expect(decisions.map(({ violated }) => violated)).toEqual([0, bitsOf('account-day'), bitsOf('account-day')]);
  });

  it('set the retry time to the end of the month when the day and the month are used up', async () => {
    const subject = subjectWith({ accountDay: 2, keyMonth: 2 });
    await under().decideEach(subject, 2);
    const { violated, retryAtMs } = await under().decide(subject);
    expect([violated, retryAtMs]).toEqual([bitsOf('account-day', 'key-month'), UTC_MONTHS.at(START_MS).endMs]);
  });

  it('start and end a day at midnight in the account time zone, even when clocks change', async () => {
    for (const date of ['2101-03-27', '2101-03-28', '2101-10-30', '2101-10-31', '2101-12-31']) {
      const midnight = DateTime.fromISO(`${date}T00:00:00`, { zone: 'Europe/Berlin' });
      const next = midnight.plus({ days: 1 }).toMillis();
      const subject = subjectWith({ keyDay: 2 }, { timeZone: 'Europe/Berlin', keyId: `key_${date}` });
      under().at(midnight.toMillis());
      expect(admittedOf(await under().decideEach(subject, 3))).toBe(2);
      under().at(next - 1);
      expect(await under().decide(subject)).toMatchObject({ admitted: false, retryAtMs: next });
      under().at(next);
      expect((await under().decide(subject)).admitted).toBe(true);
    }
  });

  it('continue the count of a day when the clock returns from another day', async () => {
    const subject = subjectWith({ keyDay: 10 });
    await under().decideEach(subject, 8);
    for (const aheadMs of [DAY_MS, 31 * DAY_MS]) {
      under().clock.advance(aheadMs);
      await under().decideEach(subject, 3);
      under().clock.advance(-aheadMs);
      expect(await days(subject)).toMatchObject({ accountDay: 8, keyDay: 8 });
    }
    expect(admittedOf(await under().decideEach(subject, 5))).toBe(2);
  });

  it('refund a cost to the day that counted it, and not to the next day', async () => {
    const subject = subjectWith({});
    const yesterday = await under().decide(subject, 4);
    under().clock.advance(DAY_MS);
    const today = await under().decide(subject, 3);
    await under().store.refund(subject, yesterday);
    expect(await days(subject)).toEqual({ accountDay: 3, keyDay: 3, accountMonth: 3, keyMonth: 3 });
    await under().store.refund(subject, today);
    expect(await days(subject)).toEqual({ accountDay: 0, keyDay: 0, accountMonth: 0, keyMonth: 0 });
  });

  it('keep the day when the month is set, and still refund its cost to the day', async () => {
    const subject = subjectWith({});
    const decision = await under().decide(subject, 4);
    under().clock.advance(1);
    await under().store.setMonthUsed('acc_1', undefined, UTC_MONTHS, 100);
    await under().store.setMonthUsed('acc_1', 'key_1', UTC_MONTHS, 0);
    under().clock.advance(1);
    expect(await days()).toEqual({ accountDay: 4, keyDay: 4, accountMonth: 100, keyMonth: 0 });
    await under().store.refund(subject, decision);
    expect(await days()).toEqual({ accountDay: 0, keyDay: 0, accountMonth: 100, keyMonth: 0 });
  });

  it('seed the day from the database, and start at zero where the database has another day', async () => {
    const { label } = UTC_MONTHS.at(START_MS).day;
    under().months.used = { account: 40, key: 10 };
    under().months.day = { day: label, used: 7 };
    expect(countsByWindow((await under().decide(subjectWith({}))).used)).toMatchObject({ accountDay: 8, keyDay: 8 });
    under().months.day = { day: label - 1, used: 7 };
    const other = subjectWith({}, { accountId: 'acc_2' });
    expect(countsByWindow((await under().decide(other)).used)).toMatchObject({
      accountDay: 1,
      keyDay: 1,
      accountMonth: 41,
    });
  });
});

describe('a day', () => {
  it.each(['America/New_York', 'Pacific/Apia', 'Asia/Kolkata', 'Africa/Cairo', 'America/Sao_Paulo'])(
    'in %s matches Luxon, and never spans two billing months',
    (zone) => {
      const calendar = calendarOf(zone, 31);
      const from = DateTime.fromISO('2026-01-01T00:00:00', { zone });
      for (let day = 0; day < 800; day++) {
        const begins = from.plus({ days: day }).startOf('day');
        const ends = begins.plus({ days: 1 }).startOf('day');
        for (const nowMs of [begins.toMillis(), ends.toMillis() - 1]) {
          const { day: found, startMs, endMs } = calendar.at(nowMs);
          expect([found.startMs, found.endMs]).toEqual([begins.toMillis(), ends.toMillis()]);
          expect(found.startMs >= startMs && found.endMs <= endMs).toBe(true);
        }
      }
    },
  );
});
