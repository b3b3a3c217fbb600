/** Tests the rows that parameters ask for, and the errors of invalid parameters. */
import { describe, expect, it } from '@jest/globals';
import { Problem } from '../../platform/problems/errors.js';
import { calendarOf } from '../model/month-period.js';
import { dateOf, usageQuery, type UsageParameters } from './usage-query.js';

const NOW_MS = Date.parse('2026-11-20T11:30:00Z');
const UTC = calendarOf('UTC', 1);

function daysOf(parameters: UsageParameters, calendar = UTC): string[] {
  const query = usageQuery({ group_by: 'day', ...parameters }, calendar, NOW_MS);
  return [dateOf(query?.from ?? 0), dateOf(query?.to ?? 0)];
}

function errorsOf(parameters: UsageParameters): unknown {
  try {
    usageQuery(parameters, UTC, NOW_MS);
  } catch (error) {
    if (error instanceof Problem && error.code === 'invalid_parameter') return error.options.errors;
    throw error;
  }
  return undefined;
}

describe('a query for usage', () => {
  it('selects no rows without group_by', () => {
    expect(usageQuery({}, UTC, NOW_MS)).toBeUndefined();
  });

  it('covers the current period up to now unless it names days', () => {
    expect(daysOf({})).toEqual(['2026-11-01', '2026-11-20']);
    expect(daysOf({}, calendarOf('Pacific/Auckland', 21))).toEqual(['2026-11-21', '2026-11-21']);
    expect(daysOf({}, calendarOf('America/New_York', 31))).toEqual(['2026-10-31', '2026-11-20']);
    expect(daysOf({ to: '2026-03-07' })).toEqual(['2026-03-01', '2026-03-07']);
    expect(daysOf({ from: '2026-10-05' })).toEqual(['2026-10-05', '2026-11-20']);
  });

  it('accepts the first and the last possible day', () => {
    for (const zone of ['Pacific/Apia', 'Pacific/Kiritimati', 'America/New_York']) {
      const months = calendarOf(zone, 31);
      expect(daysOf({ to: '9999-12-31' }, months)).toEqual(['9999-12-31', '9999-12-31']);
      expect(daysOf({ to: '1970-01-01' }, months)).toEqual(['1969-12-31', '1970-01-01']);
    }
  });

  it('accepts one day, and 400 days over a leap year', () => {
    expect(daysOf({ from: '2026-11-20', to: '2026-11-20' })).toEqual(['2026-11-20', '2026-11-20']);
    expect(daysOf({ from: '2024-01-15', to: '2025-02-17' })).toEqual(['2024-01-15', '2025-02-17']);
  });

  it('returns groups in one order, whatever the requested order', () => {
    expect(usageQuery({ group_by: 'outcome, day,operation,day' }, UTC, NOW_MS)?.groups).toEqual([
      'day',
      'operation',
      'outcome',
    ]);
  });

  it.each([
    [{ group_by: 'day', from: '2016-11-20', to: '2026-11-20' }, 'from', /400 days/],
    [{ group_by: 'day', from: '2025-10-16', to: '2026-11-20' }, 'from', /400 days/],
    [{ group_by: 'day', from: '2026-11-21' }, 'from', /not be after 2026-11-20/],
    [{ group_by: 'day', from: '2026-02-30' }, 'from', /date such as/],
    [{ group_by: 'day', to: '20261120' }, 'to', /date such as/],
    [{ group_by: 'day', to: '2026-11-20T00:00:00Z' }, 'to', /date such as/],
    [{ group_by: 'day', to: '' }, 'to', /date such as/],
    [{ group_by: 'day', to: '0000-01-01' }, 'to', /date such as/],
    [{ group_by: 'day', to: '1969-12-31' }, 'to', /date such as/],
    [{ group_by: 'day', from: '9999-12-31', to: '0000-02-30' }, 'to', /date such as/],
    [{ group_by: 'day', to: '9999-12-31', from: '2026-11-20' }, 'from', /400 days/],
    [{ group_by: 'plan' }, 'group_by', /month, day, api_key, operation, outcome/],
    [{ group_by: 'constructor' }, 'group_by', /some of/],
    [{ group_by: '' }, 'group_by', /some of/],
    [{ group_by: 'day', limit: '0' }, 'limit', /1 to 1000/],
    [{ group_by: 'day', limit: '1001' }, 'limit', /1 to 1000/],
    [{ group_by: 'day', limit: '1e2' }, 'limit', /1 to 1000/],
    [{ from: '2026-11-01' }, 'from', /needs group_by/],
    [{ cursor: 'abc' }, 'cursor', /needs group_by/],
  ])('refuses %j', (parameters, parameter, detail) => {
    expect(errorsOf(parameters)).toEqual([{ parameter, detail: expect.stringMatching(detail) }]);
  });

  it('names everything that is wrong at once', () => {
    expect(errorsOf({ group_by: 'x', from: 'y', to: 'z', limit: '-1' })).toMatchObject([
      { parameter: 'group_by' },
      { parameter: 'to' },
      { parameter: 'from' },
      { parameter: 'limit' },
    ]);
  });
});
