/** Rules for which changes of address lists, event types and limits widen access. */
import { describe, expect, it } from '@jest/globals';
import { limitsInForce, widensAccess, type KeyAccess } from './access-changes.js';

const KEY: KeyAccess = {
  isActive: true,
  scopes: ['customers:read'],
  allowedIps: [],
  expiresAt: null,
  limits: limitsInForce(undefined),
};

const withLists = (before: readonly string[], after: readonly string[]): boolean =>
  widensAccess('api_key', { ...KEY, allowedIps: before }, { ...KEY, allowedIps: after });

describe('an address list', () => {
  it.each([
    [['10.0.0.0/8'], ['10.0.0.0/8']],
    [[], ['10.0.0.0/8']],
    [['10.0.0.0/8'], ['10.255.255.255']],
    [
      ['10.0.0.0/8', '192.0.2.1'],
      ['192.0.2.1/32', '10.1.0.0/16'],
    ],
    [['2001:db8::/32'], ['2001:db8:1::/48']],
    [['0.0.0.0/0'], ['203.0.113.7']],
  ])('changed from %j to %j admits no new address', (before, after) => {
    expect(withLists(before, after)).toBe(false);
  });

  it.each([
    [['10.0.0.0/8'], []],
    [['10.0.0.0/8'], ['10.0.0.0/7']],
    [['10.0.0.0/8'], ['10.0.0.0/8', '11.0.0.1']],
    [['10.0.0.1'], ['10.0.0.0/31']],
    [['0.0.0.0/0'], ['::/0']],
    [['10.0.0.0/8'], ['::ffff:10.0.0.0/90']],
    [['2001:db8::/32'], ['2001:db9::1']],
  ])('changed from %j to %j admits more', (before, after) => {
    expect(withLists(before, after)).toBe(true);
  });
});

describe('event types', () => {
  const endpoint = (eventTypes: readonly string[]) => ({ isEnabled: true, url: 'https://a.example/', eventTypes });

  it.each([
    [[], ['customer.*'], false],
    [['customer.*'], ['customer.created', 'customer.address.*'], false],
    [['customer.created'], [], true],
    [['customer.created'], ['customer.*'], true],
    [['customer.*'], ['customers.created'], true],
  ])('changed from %j to %j: widens access is %s', (before, after, isMore) => {
    expect(widensAccess('webhook_endpoint', endpoint(before), endpoint(after))).toBe(isMore);
  });
});

describe('limits', () => {
  const plan = { key: { minute: 60 }, account: {}, onRedisLoss: 'local', charge: 'all' } as const;
  const key = (limits: { minute?: number | null; month?: number } | null) => ({
    ...KEY,
    limits: limitsInForce(plan, limits),
  });

  it.each([
    [null, { minute: 59 }, false],
    [null, { minute: 61 }, true],
    [null, { minute: null }, true],
    [{ minute: 10 }, null, true],
    [{ minute: 100 }, null, false],
    [{ month: 10 }, null, true],
    [{ month: 10 }, { month: 9, minute: 60 }, false],
  ])('changed from %j to %j: widens access is %s', (before, after, isMore) => {
    expect(widensAccess('api_key', key(before), key(after))).toBe(isMore);
  });
});

it('creating something widens access', () => {
  expect(widensAccess('account_member', null, { role: 'viewer' })).toBe(true);
});
