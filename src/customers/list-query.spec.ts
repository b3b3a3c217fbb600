import { describe, expect, it } from '@jest/globals';
import { RequestError } from './errors.js';
import { parseListQuery } from './list-query.js';

function refusalOf(query: Record<string, unknown>): Record<string, string> {
  try {
    parseListQuery(query);
  } catch (error) {
    if (error instanceof RequestError)
      return Object.fromEntries(error.fields.map((one) => ['parameter' in one ? one.parameter : '', one.message]));
    throw error;
  }
  return {};
}

const LIMIT_MESSAGE = 'must be a whole number from 1 to 100';

describe('the query of the list', () => {
  it('defaults to 20 customers without filters', () => {
    expect(parseListQuery({})).toEqual({ limit: 20, filters: {} });
  });

  it('reads every parameter', () => {
    const query = parseListQuery({
      limit: '100',
      cursor: 'abc',
      email: ' Anna@Example.com',
      activity: 'via_ferrata',
      status: 'active',
      created_after: '2026-05-01',
      created_before: '2026-06-01T00:00:00+02:00',
      search: ' anna hub ',
    });
    expect(query).toEqual({
      limit: 100,
      cursor: 'abc',
      filters: {
        email: 'anna@example.com',
        activity: 'via_ferrata',
        status: 'active',
        created_after: Date.parse('2026-05-01T00:00:00Z'),
        created_before: Date.parse('2026-05-31T22:00:00Z'),
        search: 'anna hub',
      },
    });
  });

  it.each(['0', '101', '-1', '1.5', '1e1', '', ' 5', 'ten', '999999999999'])('refuses limit=%j', (limit) => {
    expect(refusalOf({ limit })).toEqual({ limit: LIMIT_MESSAGE });
  });

  it('keeps an empty cursor, so that it is refused instead of starting over', () => {
    expect(parseListQuery({ cursor: '' }).cursor).toBe('');
  });

  it('names every wrong parameter at once', () => {
    const instantMessage =
      'must be a date (2026-05-01) or an RFC 3339 date-time (2026-05-01T09:30:00Z; write + as %2B)';
    const wrong = {
      limit: '0',
      activity: 'skiing',
      status: ['lead', 'active'],
      created_after: 'May',
      search: 'a\u0000',
      createdAfter: 'x',
    };
    expect(refusalOf(wrong)).toEqual({
      limit: LIMIT_MESSAGE,
      activity: 'must be one of rafting, climbing, bike_tour, canyoning, via_ferrata, kayaking, hiking',
      status: 'must be given only once',
      created_after: instantMessage,
      search: 'must not contain control characters',
      createdAfter: 'is not known here, did you mean created_after?',
    });
  });

  it('refuses a span that ends before it starts', () => {
    expect(refusalOf({ created_after: '2026-05-02', created_before: '2026-05-01' })).toEqual({
      created_before: 'must be later than created_after',
    });
  });

  it('refuses an empty filter instead of ignoring it', () => {
    expect(refusalOf({ search: ' ', email: '' })).toEqual({ search: 'must not be empty', email: 'must not be empty' });
  });
});
