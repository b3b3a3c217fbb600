import { describe, expect, it } from '@jest/globals';
import { ID_PATTERN, toJson } from '../model/customer.js';
import { CustomerParser } from '../customer.schema.js';
import { inventCustomers } from './invent-customers.js';

const NOW = Date.parse('2026-11-20T12:00:00Z');
const YEAR_MS = 365.25 * 86_400_000;
const customers = inventCustomers('acc_a', 3_000, NOW);

describe('invented customers', () => {
  it('are the same for an account each time, and different in another account', () => {
    expect(inventCustomers('acc_a', 50, NOW)).toEqual(customers.slice(0, 50));
    const ids = new Set(customers.map(({ id }) => id));
    expect(inventCustomers('acc_b', 50, NOW).filter(({ id }) => ids.has(id))).toEqual([]);
  });

  it('have unique IDs and email addresses at example domains', () => {
    expect(new Set(customers.map(({ id }) => id)).size).toBe(customers.length);
    expect(new Set(customers.map(({ email }) => email)).size).toBe(customers.length);
    expect(customers.filter(({ id }) => !ID_PATTERN.test(id))).toEqual([]);
    expect(customers.filter(({ email }) => !/@example\.(com|net|org)$/.test(email))).toEqual([]);
  });

  it('pass the validation of a create unchanged', () => {
    const parser = new CustomerParser({ now: () => NOW });
    for (const customer of customers.slice(0, 500)) {
      const { id: _id, created_at: _created, updated_at: _updated, ...body } = toJson(customer);
      const { id: _ownId, created_at: _ownCreated, updated_at: _ownUpdated, ...fields } = customer;
      expect(parser.parseCreate(body)).toEqual(fields);
    }
  });

  it('have ordered timestamps within the last five years', () => {
    const inOrder = ({ created_at, updated_at, waiver_signed_at }: (typeof customers)[number]): boolean => {
      const times = [NOW - 5.02 * YEAR_MS, created_at, waiver_signed_at ?? created_at, updated_at, NOW - 1];
      return times.every((at, index) => at >= (times[index - 1] ?? at));
    };
    expect(customers.filter((customer) => !inOrder(customer))).toEqual([]);
  });

  it('prefer rafting, cover every activity, and in over 40 percent of cases come in summer', () => {
    const doing = (activity: string) =>
      customers.filter((one) => one.activities.some((name) => name === activity)).length;
    const others = ['climbing', 'bike_tour', 'canyoning', 'via_ferrata', 'kayaking', 'hiking'].map(doing);
    expect(doing('rafting')).toBeGreaterThan(1.5 * Math.max(...others));
    expect(Math.min(...others)).toBeGreaterThan(50);
    const summer = customers.filter((one) => [5, 6, 7].includes(new Date(one.created_at).getUTCMonth()));
    expect(summer.length / customers.length).toBeGreaterThan(0.4);
  });
});
