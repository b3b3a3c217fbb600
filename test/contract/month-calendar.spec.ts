/** Billing months in several time zones and with several billing days match those of Luxon. */
import { describe, expect, it } from '@jest/globals';
import { DateTime } from 'luxon';
import { calendarOf, monthPeriodAt } from '../../src/quota/model/month-period.js';

const ZONES = [
  'America/New_York',
  'Asia/Kolkata',
  'Pacific/Auckland',
  'Pacific/Apia',
  'Europe/Berlin',
  'America/Sao_Paulo',
];
const BILLING_DAYS = [1, 15, 28, 29, 30, 31];

/** Returns the month of an instant, computed with Luxon only. */
function expected(nowMs: number, zone: string, billingDay: number): { startMs: number; endMs: number } {
  const now = DateTime.fromMillis(nowMs, { zone });
  const startOf = (month: DateTime): DateTime =>
    month.set({ day: Math.min(billingDay, month.daysInMonth ?? 28) }).startOf('day');
  const first = now.startOf('month');
  const months = [-1, 0, 1, 2].map((offset) => startOf(first.plus({ months: offset })).toMillis());
  const next = months.findIndex((startMs) => startMs > nowMs);
  return { startMs: months[next - 1] ?? NaN, endMs: months[next] ?? NaN };
}

describe.each(ZONES)('a month in %s', (zone) => {
  it.each(BILLING_DAYS)('from day %i begins and ends as in Luxon, over two years with a leap day', (billingDay) => {
    const from = DateTime.fromISO('2027-01-01T00:00:00', { zone });
    for (let day = 0; day < 2 * 366; day++) {
      const date = from.plus({ days: day });
      // Tests days around the start of a month and each billing day, and some days in between.
      if (![1, 2, 14, 15, 16, 22, 27, 28, 29, 30, 31].includes(date.day)) continue;
      for (const nowMs of [date.toMillis(), date.endOf('day').toMillis()]) {
        const { startMs, endMs } = monthPeriodAt(nowMs, zone, billingDay);
        expect([nowMs, startMs, endMs]).toEqual([nowMs, ...Object.values(expected(nowMs, zone, billingDay))]);
      }
    }
  });

  it('starts where the previous one ends, with a greater label', () => {
    for (const billingDay of BILLING_DAYS) {
      let period = monthPeriodAt(Date.parse('2027-01-15T00:00:00Z'), zone, billingDay);
      for (let month = 0; month < 60; month++) {
        const next = monthPeriodAt(period.endMs, zone, billingDay);
        expect(next.startMs).toBe(period.endMs);
        expect(next.label).toBeGreaterThan(period.label);
        const last = monthPeriodAt(period.endMs - 1, zone, billingDay);
        expect({ ...last, day: period.day }).toEqual(period);
        expect([last.day.endMs, next.day.startMs]).toEqual([period.endMs, period.endMs]);
        period = next;
      }
    }
  });
});

describe('the start and the reset', () => {
  // Computed with Luxon and checked by a person. The offsets differ on both sides of a clock change.
  it.each([
    ['America/New_York', 1, '2026-03-10T12:00:00Z', '2026-03-01T00:00:00-05:00', '2026-04-01T00:00:00-04:00'],
    ['America/New_York', 1, '2026-11-20T12:00:00Z', '2026-11-01T00:00:00-04:00', '2026-12-01T00:00:00-05:00'],
    ['Pacific/Auckland', 1, '2026-09-27T12:00:00Z', '2026-09-01T00:00:00+12:00', '2026-10-01T00:00:00+13:00'],
    ['Asia/Kolkata', 31, '2027-02-28T12:00:00Z', '2027-02-28T00:00:00+05:30', '2027-03-31T00:00:00+05:30'],
    ['Europe/Berlin', 30, '2028-02-29T12:00:00Z', '2028-02-29T00:00:00+01:00', '2028-03-30T00:00:00+02:00'],
    // Apia skipped 30 December 2011. The skipped day begins with the next one.
    ['Pacific/Apia', 30, '2011-12-31T12:00:00Z', '2011-12-31T00:00:00+14:00', '2012-01-30T00:00:00+14:00'],
    // São Paulo skipped midnight on 4 November 2018. The day began at 1:00.
    ['America/Sao_Paulo', 4, '2018-11-10T12:00:00Z', '2018-11-04T01:00:00-02:00', '2018-12-04T00:00:00-02:00'],
  ])('in %s from day %i at %s are %s and %s', (zone, billingDay, now, start, end) => {
    const period = monthPeriodAt(Date.parse(now), zone, billingDay);
    expect([period.startMs, period.endMs]).toEqual([Date.parse(start), Date.parse(end)]);
  });
});

describe('a calendar', () => {
  it('is shared by all accounts with the same time zone and billing day', () => {
    expect(calendarOf('Asia/Kolkata', 5)).toBe(calendarOf('Asia/Kolkata', 5));
    expect(calendarOf('Asia/Kolkata', 5)).not.toBe(calendarOf('Asia/Kolkata', 6));
  });

  it('keeps the label of the month when the account moves to another time zone in the middle of it', () => {
    const middle = Date.parse('2026-11-20T12:00:00Z');
    const labels = new Set(ZONES.map((zone) => calendarOf(zone, 1).at(middle).label));
    expect([...labels]).toEqual([20_261_101]);
  });
});
