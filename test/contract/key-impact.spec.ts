/** The preview of revoking or restricting a key lists its recent use, from stored usage, on SQLite and PostgreSQL. */
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { createAccountSchema } from '../../src/records/account-fields.js';
import type { Account } from '../../src/accounts/accounts.js';
import { createApiKeySchema } from '../../src/accounts/api-key-fields.js';
import type { ApiKey } from '../../src/accounts/api-key-rows.js';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { digestOf } from '../../src/keys/api-key-format.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { OPERATOR, storesOn } from '../support/stores.js';

const DAY_MS = 86_400_000;

describeOnDatabases('the impact of a key', (kind) => {
  let database: DatabaseHandle;
  let stores: ReturnType<typeof storesOn>;
  let account: Account;
  let key: ApiKey;
  let secret: string;

  beforeAll(async () => {
    database = await testDatabase(kind);
  });
  afterAll(() => database.close());
  beforeEach(async () => {
    stores = storesOn(database);
    // 2026-11-18, 03:06 in Vienna.
    const fields = createAccountSchema.parse({ name: 'Salzach', plan: 'starter', time_zone: 'Europe/Vienna' });
    account = await stores.accounts.create(fields, OPERATOR);
    ({ key, secret } = await create(['customers:*', 'tours:read']));
    stores.clock.advance(100 * DAY_MS);
  });

  const create = (scopes: string[]) =>
    stores.keys.create(account.id, createApiKeySchema.parse({ name: 'k', scopes }), OPERATOR);
  const daysAgo = (days: number) => {
    const date = new Date(stores.clock.now() - days * DAY_MS);
    return Number(date.toLocaleDateString('sv', { timeZone: 'Europe/Vienna' }).replaceAll('-', ''));
  };
  const used = (days: number, operation: string, requests: number, outcome = 'success', of = key.id) =>
    database.db
      .insertInto('usage_daily')
      .values({
        account_id: account.id,
        day: daysAgo(days),
        api_key_id: of,
        operation,
        period: 20_270_201,
        outcome,
        requests,
        cost: requests,
        updated_at: 1,
      })
      .execute();
  const impact = (of = key) => stores.keys.readImpact(of, account);

  it('lists the calls of yesterday and today by operation, most first, without refused requests', async () => {
    await used(0, 'listCustomers', 3);
    await used(1, 'listCustomers', 4, 'server_error');
    await used(0, 'createCustomer', 9);
    await used(2, 'listTours', 99);
    await used(0, 'listTours', 50, 'quota_exceeded');
    await used(0, 'listTours', 50, 'shadow_refused');
    await used(0, '', 50, 'adjusted');
    await used(0, 'listTours', 50, 'success', 'key_other');
    const inFlight = { operation: 'listCustomers', period: 20_270_201, requests: 2, cost: 2 };
    await database.db
      .insertInto('usage_in_flight')
      .values({ node: `n${kind}`, account_id: account.id, day: daysAgo(0), api_key_id: key.id, ...inFlight })
      .execute();
    const { recent } = await impact();
    expect(recent).toMatchObject({
      requests: 18,
      operations: [
        { operation: 'createCustomer', requests: 9 },
        { operation: 'listCustomers', requests: 9 },
      ],
    });
    expect(Date.parse(recent.to) - Date.parse(recent.from)).toBe(DAY_MS);
  });

  it('lists scopes that no request needed in 30 days, counting denied requests as needs', async () => {
    expect((await impact()).unusedScopes).toEqual(['customers:*', 'tours:read']);
    await used(31, 'listTours', 5);
    expect((await impact()).unusedScopes).toEqual(['customers:*', 'tours:read']);
    await used(30, 'listCustomers', 1, 'denied');
    await used(3, 'noLongerThere', 7);
    expect(await impact()).toMatchObject({ unusedScopes: ['tours:read'], usedScopes: ['customers:read'] });
    await used(29, 'listTours', 1);
    expect(await impact()).toMatchObject({ unusedScopes: [], usedScopes: ['customers:read', 'tours:read'] });
  });

  it('returns the date since when usage is known: the creation date for a young key', async () => {
    const young = (await create(['*'])).key;
    stores.clock.advance(DAY_MS);
    const label = (days: number) => String(daysAgo(days)).replace(/(....)(..)(..)/, '$1-$2-$3');
    expect((await impact(young)).since).toBe(label(1));
    expect((await impact()).since).toBe(label(30));
    expect((await impact(young)).unusedScopes).toEqual(['*']);
  });

  it('shows for both secrets of an overlap when and from where each was last used', async () => {
    const note = (of: string, usedAtMs: number, address: string) =>
      stores.keys.touchLastUsed([{ hash: digestOf(of), keyId: key.id, usedAtMs, address }]);
    expect(await impact()).toMatchObject({ currentSecret: { lastUsedAt: null }, oldSecret: null });
    await note(secret, 5_000, '203.0.113.7');
    const next = await stores.keys.rotate(key.id, { overlap_seconds: 3_600 }, OPERATOR);
    await note(next.secret, 9_000, '2001:db8::1');
    await note(secret, 7_000, '203.0.113.8');
    await note(secret, 6_000, '192.0.2.1');
    expect(await impact()).toMatchObject({
      currentSecret: { expiresAt: null, lastUsedAt: 9_000, lastUsedIp: '2001:db8::1' },
      oldSecret: { expiresAt: next.previousSecretExpiresAt, lastUsedAt: 7_000, lastUsedIp: '203.0.113.8' },
    });
    expect((await stores.keys.get(key.id)).lastUsedAt).toBe(9_000);
    stores.clock.advance(3_600_000);
    expect((await impact()).oldSecret).toBeNull();
  });

  it('keeps the latest use when uses of both secrets are recorded together', async () => {
    const next = await stores.keys.rotate(key.id, { overlap_seconds: 3_600 }, OPERATOR);
    const uses = [secret, next.secret, secret].map((of, at) => ({ of, usedAtMs: [3_000, 8_000, 2_000][at]! }));
    await stores.keys.touchLastUsed(
      uses.map(({ of, usedAtMs }) => ({ hash: digestOf(of), keyId: key.id, usedAtMs, address: '::1' })),
    );
    expect((await stores.keys.get(key.id)).lastUsedAt).toBe(8_000);
  });
});
