/** Limits of cached keys, and their changes over time. */
import { describe, expect, it } from '@jest/globals';
import { keyRecord } from '../../test/support/key-records.js';
import type { GatewayFile } from '../config/model/schema.js';
import { NO_LIMIT_CHANGES, type LimitChanges } from '../quota/model/effective-limits.js';
import type { ApiKeyRecord, InvalidationBus } from './api-key.js';
import { ApiKeyCache } from './api-key-cache.js';
import { CachedKeyFactory, type CachedKey } from './cached-key.js';
import { ScopeSets } from './scopes.js';
import { ACCOUNT_MONTH, KEY_MINUTE } from '../platform/quotas/windows.js';
import { countsWith } from '../../test/support/quotas.js';

const PLANS = {
  starter: { key: { minute: 60, month: 500 }, account: { month: 10_000 }, onRedisLoss: 'local', charge: 'all' },
  twin: { key: { minute: 60, month: 500 }, account: { month: 10_000 }, onRedisLoss: 'closed', charge: 'all' },
} as const satisfies GatewayFile['plans'];
const NOVEMBER = 20_261_101;
const LAST_SECOND_MS = Date.parse('2026-11-30T22:59:59Z');

function record(changes: Partial<LimitChanges> = {}, plan = 'starter'): ApiKeyRecord {
  const limitChanges = Object.keys(changes).length === 0 ? NO_LIMIT_CHANGES : { ...NO_LIMIT_CHANGES, ...changes };
  return keyRecord({ scopes: ['*'], plan, timeZone: 'Europe/Vienna', limitChanges });
}

const factory = new CachedKeyFactory(PLANS, new ScopeSets());
const build = (of: ApiKeyRecord, previous?: CachedKey, nowMs = LAST_SECOND_MS) => factory.build(of, nowMs, previous);
const granted = { accountGrant: { month: NOVEMBER, amount: 1_000 } };

it('an invalid network entry matches no address, and one with host bits still matches its network', () => {
  const held = (allowedIps: readonly string[], address: string) =>
    build(keyRecord({ allowedIps })).allowedAddresses?.holds(address);
  expect(held(['::ffff:203.0.113.0/24'], '127.0.0.1')).toBe(false);
  expect(held(['10.0.0.1/8'], '10.9.9.9')).toBe(true);
  expect(held(['10.0.0.1/8'], '127.0.0.1')).toBe(false);
});

describe('the quota subject of a key', () => {
  it('is reused while the effective limits are the same', () => {
    const before = build(record());
    expect(build(record(), before).subject).toBe(before.subject);
    expect(build(record({ keyLimits: { minute: 60 } }), before).subject).toBe(before.subject);
    expect(build(record({ accountGrant: { month: 20_261_001, amount: 5 } }), before).subject).toBe(before.subject);
  });

  it('is replaced if a limit, the plan or the time zone changes', () => {
    const before = build(record());
    const others = [record({ keyLimits: { month: 1 } }), record(granted), record({}, 'twin')];
    for (const other of [...others, { ...record(), timeZone: 'UTC' }]) {
      expect(build(other, before).subject).not.toBe(before.subject);
    }
    expect(build(record(granted), before).subject?.limits[ACCOUNT_MONTH]).toBe(11_000);
  });

  it('shares its terms with keys that have the same limits', () => {
    const { terms } = build(record()).subject!;
    expect(build({ ...record(), keyId: 'key_2', accountId: 'acc_2' }).subject?.terms).toBe(terms);
    const others = [record({ keyLimits: { month: 1 } }), record(granted), record({}, 'twin')];
    for (const other of [...others, { ...record(), timeZone: 'UTC' }, { ...record(), billingDay: 2 }]) {
      expect(build(other).subject?.terms).not.toBe(terms);
    }
  });

  it('keeps the counts that a store reported, and has none before', () => {
    const subject = build(record()).subject!;
    expect(subject.lastSeen).toBeUndefined();
    const counts = countsWith({
      keyMinute: 1,
      accountMinute: 2,
      accountMonth: 2 ** 40 + 1,
      keyMonth: 2 ** 31,
      keyDay: 7,
    });
    subject.recordSeen(counts, LAST_SECOND_MS, subject.calendar.at(LAST_SECOND_MS));
    expect([subject.lastSeen, subject.lastSeenAtMs, subject.lastSeenMonth]).toEqual([counts, LAST_SECOND_MS, NOVEMBER]);
  });

  it('is undefined while the plan is not configured', () => {
    const gone = build(record({}, 'gone'), build(record()));
    expect(gone.subject).toBeUndefined();
    expect(build(record(), gone).subject?.limits[KEY_MINUTE]).toBe(60);
  });
});

describe('a grant', () => {
  const silent: InvalidationBus = {
    publish: async () => {},
    subscribe: () => {},
    connectedSince: () => 0,
    lastReceived: () => ({ untilMs: Infinity, gapFromMs: null }),
  };

  it("ends at midnight in the account's time zone, even while the database is unavailable", async () => {
    const clock = { nowMs: LAST_SECOND_MS, now: () => clock.nowMs };
    let isAway = false;
    const findByHashes = async () => {
      if (isAway) throw new Error('away');
      return [record(granted)];
    };
    const cache = new ApiKeyCache({ findByHashes }, factory, silent, clock);
    const limit = async () => (await cache.find('a'))?.subject?.limits[ACCOUNT_MONTH];
    expect(await limit()).toBe(11_000);
    isAway = true;
    clock.nowMs += 999;
    expect(await limit()).toBe(11_000);
    clock.nowMs += 1;
    expect(await limit()).toBe(10_000);
    const known = await cache.find('a');
    expect(await cache.find('a')).toBe(known);
    expect(known?.checkedAtMs).toBe(LAST_SECOND_MS);
  });

  it('does not exist for most keys, whose limits never end', () => {
    expect(build(record()).limitsUntilMs).toBeUndefined();
    expect(build(record({ accountGrant: { month: 20_261_001, amount: 5 } })).limitsUntilMs).toBeUndefined();
    expect(build(record(granted)).limitsUntilMs).toBe(LAST_SECOND_MS + 1_000);
  });
});
