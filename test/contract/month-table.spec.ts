/** Months match a table computed with another library, for unusual time zones and every kind of billing day. */
import { describe, expect, it } from '@jest/globals';
import { calendarOf, monthPeriodAt } from '../../src/quota/model/month-period.js';
import { formatWithOffset } from '../../src/platform/rfc3339.js';
import { MONTH_TABLE } from '../support/month-table.js';

const zones = [...new Set(MONTH_TABLE.map(({ zone }) => zone))];

it('the table has months of 28 to 31 days, and of an hour more or less in zones that change clocks', () => {
  for (const zone of ['America/New_York', 'Asia/Kolkata', 'Pacific/Auckland', 'Pacific/Apia']) {
    const hours = new Set(MONTH_TABLE.filter((each) => each.zone === zone).map((each) => (each.endMs - each.startMs) / 3_600_000)); // prettier-ignore
    const changesClocks = zone !== 'Asia/Kolkata';
    expect([...hours]).toEqual(expect.arrayContaining([28, 29, 30, 31].map((days) => days * 24)));
    expect([30 * 24 + 1, 31 * 24 + 1, 30 * 24 - 1, 31 * 24 - 1].some((each) => hours.has(each))).toBe(changesClocks);
  }
  // Apia skipped 30 December 2011, so this month has 30 days.
  expect(MONTH_TABLE.some(({ zone, start, end }) => zone === 'Pacific/Apia' && start.startsWith('2011-12-01') && Date.parse(end) - Date.parse(start) === 30 * 86_400_000)).toBe(true); // prettier-ignore
});

describe.each(zones)('a month in %s', (zone) => {
  const months = MONTH_TABLE.filter((each) => each.zone === zone);

  it('begins and ends as in the table, and contains instants in between', () => {
    for (const { billingDay, start, end, startMs, endMs } of months) {
      const instants = [startMs, startMs + 1, (startMs + endMs) / 2, endMs - 3_600_000, endMs - 1];
      for (const nowMs of instants) {
        const period = monthPeriodAt(nowMs, zone, billingDay);
        expect({ nowMs, billingDay, startMs: period.startMs, endMs: period.endMs }).toEqual({ nowMs, billingDay, startMs, endMs }); // prettier-ignore
      }
      expect(formatWithOffset(startMs, zone)).toBe(start);
      expect(formatWithOffset(endMs, zone)).toBe(end);
    }
  });

  it('is the same when a calendar is used in another order', () => {
    for (const { billingDay, startMs, endMs } of months.toReversed()) {
      const calendar = calendarOf(zone, billingDay);
      for (const nowMs of [endMs - 1, startMs, endMs - 1]) expect(calendar.at(nowMs)).toMatchObject({ startMs, endMs });
    }
  });
});
