/** Plans: rejected limits, and warnings about valid settings that are probably mistakes. */
import { describe, expect, it } from '@jest/globals';
import { MINIMAL, OPENAPI, problemsOf, warningsOf } from '../../../test/support/config-files.js';

const withPlan = (plan: string) => ({
  'gateway.yaml': MINIMAL.replace('{ key: { minute: 60 } }', plan),
  'customers.yaml': OPENAPI,
});

describe('a limit', () => {
  it.each([
    ['0', undefined],
    ['1', undefined],
    ['1e3', undefined],
    ['999999999999999', undefined],
    ['-1', 'must be at least 0, not -1'],
    ['1.5', 'must be a whole number, not 1.5'],
    ['1000000000000000', 'must be at most 999999999999999, not 1000000000000000'],
    ['9007199254740993', 'must be at most 999999999999999, not 9007199254740992'],
    ['1e300', 'must be at most 999999999999999, not 1e+300'],
    ['.inf', 'must be a number, not .inf'],
    ['.nan', 'must be a number, not .nan'],
    ['"60"', 'must be a number, not `60`'],
    ['60/m', 'must be a number, not `60/m`'],
    ['true', 'must be a number, not true'],
    ['null', 'must be a number, not empty'],
  ])('of %s gives the message: %s', async (limit, message) => {
    for (const plan of [
      `{ key: { minute: ${limit} } }`,
      `{ account: { month: ${limit} } }`,
      `{ shadow: { key: { month: ${limit} } } }`,
    ]) {
      expect((await problemsOf(withPlan(plan)))[0]?.message).toBe(message);
    }
  });
});

describe('a warning', () => {
  it.each(['key: { minute: 4 }', 'key: { month: 4 }', 'account: { minute: 4 }', 'account: { month: 4 }'])(
    'is given for an operation that costs more than the limit %s',
    async (limits) => {
      const [warning, ...others] = await warningsOf(withPlan(`{ ${limits} }`));
      expect(warning).toMatchObject({
        line: 7,
        path: `plans.starter.${limits.replace(/[: {}]+/g, '.').replace(/\.4\.$/, '')}`,
        message: 'POST /customers (5) costs more than this limit of 4, and can never be called',
      });
      expect(others).toEqual([]);
    },
  );

  it('is not given for an operation that costs exactly the limit', async () => {
    expect(await warningsOf(withPlan('{ key: { minute: 5 }, account: { month: 5 } }'))).toEqual([]);
  });

  it.each([
    ['{ account: { month: 0 } }', 'plans.starter.account.month', 'admits no request'],
    ['{ key: { minute: 0 } }', 'plans.starter.key.minute', 'admits no request'],
    [
      '{ key: { minute: 60 }, account: { minute: 10 } }',
      'plans.starter.key.minute',
      "is above the account's limit for the same window (10), so it never refuses anything",
    ],
    ['{ key: { month: 60 }, account: { month: 10 } }', 'plans.starter.key.month', "is above the account's limit"],
  ])('is given for a limit that admits nothing or never refuses: %s', async (plan, path, message) => {
    const warnings = await warningsOf(withPlan(plan));
    expect(warnings).toEqual([expect.objectContaining({ line: 7, path, message: expect.stringContaining(message) })]);
    expect(warnings[0]?.hint).toContain('leave it out');
  });

  it.each([
    ['{ key: { minute: 60 }, shadow: { key: { minute: 60 } } }', 'is not below the limit in force (60)'],
    ['{ account: { month: 60 }, shadow: { account: { month: 61 } } }', 'is not below the limit in force (60)'],
    ['{ key: { minute: 60 }, shadow: { key: {} } }', 'names no limit'],
    ['{ shadow: {} }', 'names no limit'],
  ])('is given for shadow limits that can never refuse: %s', async (plan, message) => {
    const warnings = await warningsOf(withPlan(plan));
    expect(warnings).toHaveLength(1);
    expect(warnings[0]?.message).toContain(message);
  });

  it('is not given for shadow limits that are lower, or without a limit in force', async () => {
    const plan = '{ key: { minute: 60 }, shadow: { key: { minute: 59 }, account: { month: 1000 } } }';
    expect(await warningsOf(withPlan(plan))).toEqual([]);
  });
});

describe('an invalid name', () => {
  it('of a service or plan does not hide problems below it', async () => {
    const text = MINIMAL.replace('customers:', 'Customers:')
      .replace('http://127.0.0.1:4001', 'ftp://x')
      .replace('starter:', 'Starter:')
      .replace('minute: 60', 'minute: -1');
    const problems = await problemsOf({ 'gateway.yaml': text, 'customers.yaml': OPENAPI });
    expect(problems.map(({ path, message }) => `${path} ${message}`)).toEqual([
      'services.Customers `Customers` must be a lower-case name',
      'services.Customers.targets[0] must be an http:// or https:// URL',
      'plans.Starter `Starter` must be a lower-case name',
      'plans.Starter.key.minute must be at least 0, not -1',
    ]);
  });

  it('of a plan causes no further problem for a limit that comes from a variable', async () => {
    const text = MINIMAL.replace('starter:', 'Starter:').replace('minute: 60', 'minute: "${LIMIT}"');
    const problems = await problemsOf({ 'gateway.yaml': text, 'customers.yaml': OPENAPI }, { LIMIT: '60' });
    expect(problems.map(({ message }) => message)).toEqual(['`Starter` must be a lower-case name']);
  });
});
