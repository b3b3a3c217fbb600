/** A key of an OAuth client can be restricted, but never exceed its grant, on SQLite and PostgreSQL. */
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { OPERATOR, storesOn } from '../support/stores.js';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import type { CreateApiKey } from '../../src/accounts/api-key-fields.js';

const DAY_MS = 86_400_000;

describeOnDatabases('a key of an OAuth client', (kind) => {
  let database: DatabaseHandle;
  let stores: ReturnType<typeof storesOn>;
  let accountId: string;
  beforeAll(async () => {
    database = await testDatabase(kind);
  });
  afterAll(() => database?.close());
  beforeEach(async () => {
    stores = storesOn(database);
    const account = { name: 'Isar Rafting', plan: 'starter', time_zone: 'UTC', billing_day: 1 };
    ({ id: accountId } = await stores.accounts.create(account, OPERATOR));
  });

  const after = (days: number): string => new Date(stores.clock.now() + days * DAY_MS).toISOString();
  const input = (): CreateApiKey => ({
    name: 'Assistant',
    scopes: ['customers:read', 'tours:read'],
    environment: 'live',
    expires_at: after(30),
    allowed_ips: [],
    limits: null,
  });
  const createClientKey = () =>
    stores.keys.createForClient(accountId, input(), { id: 'client', name: 'Client', memberId: null }, OPERATOR);
  const refusalOf = async (change: Promise<unknown>) =>
    change.then(
      () => [],
      (error: { code: string; options: { errors: { pointer: string }[] } }) => [
        error.code,
        ...error.options.errors.map(({ pointer }) => pointer),
      ],
    );

  it('cannot expire later than 90 days after the authorization', async () => {
    const { id } = await createClientKey();
    const to = (expires_at: string | null) => refusalOf(stores.keys.update(id, { expires_at }, OPERATOR));
    expect(await to(null)).toEqual(['validation_failed', '#/expires_at']);
    expect(await to('2099-01-01T00:00:00Z')).toEqual(['validation_failed', '#/expires_at']);
    expect(await to(after(90))).toEqual([]);
    expect(await to(after(91))).toEqual(['validation_failed', '#/expires_at']);
    expect(await to(after(1))).toEqual([]);
    stores.clock.advance(DAY_MS / 2);
    // The 90 days count from the authorization, half a day ago.
    expect(await to(after(90))).toEqual(['validation_failed', '#/expires_at']);
    expect(await to(after(89))).toEqual([]);
  });

  it('can lose granted scopes and get them back, but get no others', async () => {
    const { id } = await createClientKey();
    const to = (scopes: string[]) => refusalOf(stores.keys.update(id, { scopes }, OPERATOR));
    expect(await to(['customers:read', 'customers:write'])).toEqual(['validation_failed', '#/scopes/1']);
    expect(await to(['tours:read'])).toEqual([]);
    expect(await to(['customers:write'])).toEqual(['validation_failed', '#/scopes/0']);
    expect(await to(['tours:read', 'customers:read'])).toEqual([]);
    expect((await stores.keys.get(id)).scopes).toEqual(['tours:read', 'customers:read']);
  });

  it('has an impact with the most that it may become, unlike a key with a secret', async () => {
    const account = await stores.accounts.get(accountId);
    const { id, createdAt } = await createClientKey();
    await stores.keys.update(id, { scopes: ['tours:read'], expires_at: after(1) }, OPERATOR);
    stores.clock.advance(DAY_MS / 2);
    const { grant } = await stores.keys.readImpact(await stores.keys.get(id), account);
    expect(grant).toEqual({
      scopes: ['tours:read', 'customers:read'],
      latestExpiresAt: createdAt + 90 * DAY_MS,
    });
    const most = {
      scopes: [...(grant?.scopes ?? [])],
      expires_at: new Date(grant?.latestExpiresAt ?? 0).toISOString(),
    };
    expect(await refusalOf(stores.keys.update(id, most, OPERATOR))).toEqual([]);
    const { key } = await stores.keys.create(accountId, input(), OPERATOR);
    expect((await stores.keys.readImpact(key, account)).grant).toBeNull();
  });

  it('can change its name, addresses and limits', async () => {
    const { id } = await createClientKey();
    const change = {
      name: 'Other',
      allowed_ips: ['203.0.113.9'],
      limits: { minute: 5 },
      expires_at: input().expires_at,
    };
    expect(await stores.keys.update(id, change, OPERATOR)).toMatchObject({ name: 'Other', version: 2 });
  });

  it('differs from a key with a secret, which can get any scope and never expire', async () => {
    const { key } = await stores.keys.create(accountId, input(), OPERATOR);
    const change = { scopes: ['customers:write'], expires_at: null };
    expect(await stores.keys.update(key.id, change, OPERATOR)).toMatchObject({
      scopes: change.scopes,
      expiresAt: null,
    });
  });
});
