/** A month is the calendar month in UTC, of whatever length. */
import { describe, expect, it } from '@jest/globals';
import { calendarOf, lastDayOf, monthPeriodAt } from './month-period.js';

const DAY_MS = 86_400_000;

const DAYS = [
  ['2026-01-31T12:00:00Z', 31],
  ['2026-02-01T00:00:00Z', 28],
  ['2028-02-29T23:59:59.999Z', 29],
  ['2100-02-28T00:00:00Z', 28],
  ['2400-02-29T00:00:00Z', 29],
  ['2026-04-30T23:59:59.999Z', 30],
  ['2026-12-31T23:59:59.999Z', 31],
] as const;

describe('a month period', () => {
  it.each(DAYS)('of %s has %i days', (instant, days) => {
    const period = monthPeriodAt(Date.parse(instant));
    expect((period.endMs - period.startMs) / DAY_MS).toBe(days);
  });

  it('begins with the first instant of the month and ends before the next', () => {
    const november = monthPeriodAt(Date.parse('2026-11-20T10:00:00Z'));
    expect(new Date(november.startMs).toISOString()).toBe('2026-11-01T00:00:00.000Z');
    expect(new Date(november.endMs).toISOString()).toBe('2026-12-01T00:00:00.000Z');
    expect(monthPeriodAt(november.startMs)).toEqual({
      ...november,
      day: expect.objectContaining({ label: 20_261_101 }),
    });
    expect(monthPeriodAt(november.startMs - 1).label).toBe(20_261_001);
    expect(monthPeriodAt(november.endMs - 1)).toEqual({
      ...november,
      day: expect.objectContaining({ label: 20_261_130 }),
    });
    expect(monthPeriodAt(november.endMs).label).toBe(20_261_201);
  });

  it('follows the previous one without a gap, with a greater label, also across years', () => {
    let period = monthPeriodAt(Date.parse('2026-01-01T00:00:00Z'));
    for (let month = 0; month < 12 * 30; month++) {
      const next = monthPeriodAt(period.endMs);
      expect(next.startMs).toBe(period.endMs);
      expect(next.label).toBeGreaterThan(period.label);
      period = next;
    }
    expect(period.label).toBe(20_560_101);
  });
});

describe('the current month', () => {
  it('is correct at every instant, in any order of calls', () => {
    const current = calendarOf('UTC', 1);
    const instants = [
      '2026-11-30T23:59:59.999Z',
      '2026-12-01T00:00:00Z',
      '2026-11-30T23:59:59.999Z',
      '2026-11-01T00:00:00Z',
      '2026-10-31T23:59:59.999Z',
      '2028-02-29T00:00:00Z',
    ].map((text) => Date.parse(text));
    for (const instant of instants) expect(current.at(instant)).toEqual(monthPeriodAt(instant));
  });
});

describe('the last day of a month with a given label', () => {
  it.each([1, 15, 28, 29, 30, 31])('is the day before the next month begins, with billing day %i', (billingDay) => {
    for (let atMs = Date.UTC(2027, 0, 1); atMs < Date.UTC(2028, 3, 1); atMs += DAY_MS) {
      const { label, endMs } = monthPeriodAt(atMs, 'UTC', billingDay);
      expect(lastDayOf(label, billingDay)).toBe(calendarOf('UTC', 1).dayAt(endMs - 1).label);
    }
  });

  it('is a month after its first day if the billing day has changed since', () => {
    expect(lastDayOf(20_261_115, 1)).toBe(20_261_214);
    expect(lastDayOf(20_261_101, 15)).toBe(20_261_130);
  });
});
