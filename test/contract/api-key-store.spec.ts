/** Guarantees of the stores of accounts and keys, on SQLite and PostgreSQL. */
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import type { Account } from '../../src/accounts/accounts.js';
import { createAccountSchema } from '../../src/records/account-fields.js';
import { createApiKeySchema } from '../../src/accounts/api-key-fields.js';
import { digestOf, hashSecret, hintOf, isWellFormedSecret } from '../../src/keys/api-key-format.js';
import { NO_LIMIT_CHANGES } from '../../src/quota/model/effective-limits.js';
import { testDatabase } from '../support/database.js';
import { OPERATOR, storesOn, usesOf } from '../support/stores.js';
import { describeOnDatabases } from '../support/describe-with.js';

const HOUR_MS = 3_600_000;
const newAccount = createAccountSchema.parse({ name: 'Salzach Rafting', plan: 'starter', time_zone: 'Europe/Vienna' });
const newKey = (fields: object = {}) => createApiKeySchema.parse({ name: 'k', scopes: ['customers:read'], ...fields });
const inOrder = (limit: number) => ({ limit, sort: 'created', order: 'asc' }) as const;
const problem = (code: string, pointer?: string) =>
  expect.objectContaining({
    code,
    ...(pointer === undefined
      ? {}
      : {
          options: expect.objectContaining({ errors: expect.arrayContaining([expect.objectContaining({ pointer })]) }),
        }),
  });

describeOnDatabases('accounts and keys', (kind) => {
  let database: DatabaseHandle;
  let stores: ReturnType<typeof storesOn>;
  let account: Account;
  let accountId: string;

  beforeAll(async () => {
    database = await testDatabase(kind);
  });
  afterAll(() => database.close());
  beforeEach(async () => {
    stores = storesOn(database);
    account = await stores.accounts.create(newAccount, OPERATOR);
    accountId = account.id;
  });

  const create = (fields: object = {}) => stores.keys.create(accountId, newKey(fields), OPERATOR);
  const lookUp = async (secret: string) => (await stores.keys.findByHashes([digestOf(secret)]))[0];
  const audited = async () =>
    (await stores.auditLog.list({ limit: 100, accountId })).data.map(({ action }) => action).toReversed();

  it('finds a new key by the hash of its secret, with all fields that the request path needs', async () => {
    const { key, secret } = await create({ allowed_ips: ['203.0.113.0/24', '2001:db8::/32'] });
    expect(isWellFormedSecret(secret)).toBe(true);
    expect(key).toMatchObject({ accountId, status: 'active', hint: hintOf(secret), lastUsedAt: null });
    expect(await stores.keys.findByHashes([digestOf(secret), digestOf('unknown')])).toEqual([
      {
        hash: digestOf(secret),
        keyId: key.id,
        accountId,
        keyStatus: 'active',
        environment: 'live',
        scopes: ['customers:read'],
        expiresAt: null,
        rotatedOut: false,
        allowedIps: ['203.0.113.0/24', '2001:db8::/32'],
        accountStatus: 'active',
        plan: 'starter',
        timeZone: 'Europe/Vienna',
        billingDay: 1,
        limitChanges: NO_LIMIT_CHANGES,
      },
    ]);
  });

  it('returns the limits of the key and the grants with a key lookup', async () => {
    const { key, secret } = await create({ limits: { month: 7, minute: null } });
    const granted = { grant_period: 20_261_101, grant_amount: 999_999_999_999_999 };
    await database.db.updateTable('account').set(granted).where('id', '=', accountId).execute();
    expect((await lookUp(secret))?.limitChanges).toEqual({
      keyLimits: { minute: null, month: 7 },
      accountGrant: { month: 20_261_101, amount: 999_999_999_999_999 },
      keyGrant: { month: 0, amount: 0 },
    });
    await stores.accounts.update(accountId, { plan: 'pro' }, OPERATOR);
    expect((await lookUp(secret))?.limitChanges.accountGrant.amount).toBe(999_999_999_999_999);
    await stores.keys.update(key.id, { limits: null, name: 'n' }, OPERATOR);
    expect((await lookUp(secret))?.limitChanges.keyLimits).toBeNull();
  });

  it('looks up 1,501 hashes in one call, and returns only the known one', async () => {
    const { secret } = await create();
    const hashes = Array.from({ length: 1_500 }, (_, index) => digestOf(`junk ${index}`));
    expect(await stores.keys.findByHashes([...hashes, digestOf(secret)])).toHaveLength(1);
    expect(await stores.keys.findByHashes([])).toEqual([]);
  });

  it('rejects a scope that no operation requires with a pointer to it, and accepts wildcards', async () => {
    await expect(create({ scopes: ['customers:read', 'customers:raed'] })).rejects.toEqual(
      problem('validation_failed', '#/scopes/1'),
    );
    await expect(create({ scopes: ['boats:*'] })).rejects.toEqual(problem('validation_failed', '#/scopes/0'));
    expect((await create({ scopes: ['customers:*', '*'] })).key.scopes).toEqual(['customers:*', '*']);
  });

  it('rejects an expiration in the past, an unknown plan and an unknown account', async () => {
    const expired = new Date(stores.clock.now()).toISOString();
    await expect(create({ expires_at: expired })).rejects.toEqual(problem('validation_failed', '#/expires_at'));
    await expect(stores.accounts.create({ ...newAccount, plan: 'constructor' }, OPERATOR)).rejects.toEqual(
      problem('validation_failed', '#/plan'),
    );
    await expect(stores.keys.create('acc_none', newKey(), OPERATOR)).rejects.toEqual(problem('resource_not_found'));
  });

  it('finds one key by both of its secrets until the rotation overlap ends', async () => {
    const { key, secret } = await create();
    const rotated = await stores.keys.rotate(key.id, { overlap_seconds: 3_600 }, OPERATOR);
    const end = stores.clock.now() + HOUR_MS;
    expect(rotated).toMatchObject({ previousSecretExpiresAt: end, key: { id: key.id, hint: hintOf(rotated.secret) } });
    expect(await lookUp(secret)).toMatchObject({ keyId: key.id, expiresAt: end, rotatedOut: true });
    expect(await lookUp(rotated.secret)).toMatchObject({ keyId: key.id, expiresAt: null, rotatedOut: false });
  });

  it('ends the old secret at once when a rotation has no overlap', async () => {
    const { key, secret } = await create();
    await stores.keys.rotate(key.id, { overlap_seconds: 0 }, OPERATOR);
    expect(await lookUp(secret)).toMatchObject({ expiresAt: stores.clock.now(), rotatedOut: true });
  });

  it('rejects another rotation with an overlap while the previous secret works, and names its end', async () => {
    const { key, secret } = await create();
    const second = await stores.keys.rotate(key.id, { overlap_seconds: 3_600 }, OPERATOR);
    const end = stores.clock.now() + HOUR_MS;
    await expect(stores.keys.rotate(key.id, { overlap_seconds: 3_600 }, OPERATOR)).rejects.toMatchObject({
      code: 'previous_secret_active',
      message: expect.stringContaining(new Date(end).toISOString()),
    });
    expect(await lookUp(secret)).toMatchObject({ expiresAt: end });
    expect(await stores.keys.get(key.id)).toMatchObject({ hint: hintOf(second.secret), previousSecretExpiresAt: end });
    stores.clock.advance(HOUR_MS);
    await stores.keys.rotate(key.id, { overlap_seconds: 3_600 }, OPERATOR);
    expect(await lookUp(second.secret)).toMatchObject({ expiresAt: stores.clock.now() + HOUR_MS });
  });

  it('ends only the previous secret and notifies nodes again on repeat, without another change', async () => {
    const { key, secret } = await create();
    const { secret: current } = await stores.keys.rotate(key.id, { overlap_seconds: 3_600 }, OPERATOR);
    const ended = await stores.keys.endPreviousSecret(key.id, OPERATOR);
    const now = stores.clock.now();
    expect(ended).toMatchObject({ previousSecretExpiresAt: null, version: 3 });
    expect(await lookUp(secret)).toMatchObject({ expiresAt: now, rotatedOut: true });
    expect(await lookUp(current)).toMatchObject({ expiresAt: null });
    stores.clock.advance(1_000);
    const before = stores.bus.published.length;
    expect(await stores.keys.endPreviousSecret(key.id, OPERATOR)).toEqual(ended);
    expect(stores.bus.published.slice(before)).toEqual([{ type: 'api_key', accountId: key.accountId, keyId: key.id }]);
    expect((await lookUp(secret))?.expiresAt).toBe(now);
  });

  it('does not extend an overlap by another rotation, and leaves at most two secrets valid', async () => {
    const first = await create();
    const second = await stores.keys.rotate(first.key.id, { overlap_seconds: 3_600 }, OPERATOR);
    stores.clock.advance(60_000);
    const next = { overlap_seconds: 604_800, end_previous_secret: true } as const;
    const third = await stores.keys.rotate(first.key.id, next, OPERATOR);
    const now = stores.clock.now();
    const lives = await Promise.all(
      [first, second, third].map(async ({ secret }) => (await lookUp(secret))?.expiresAt),
    );
    expect(lives).toEqual([now, now + 604_800_000, null]);
    stores.clock.advance(1_000);
    await stores.keys.rotate(first.key.id, { overlap_seconds: 0 }, OPERATOR);
    expect((await lookUp(first.secret))?.expiresAt).toBe(now);
    expect((await lookUp(second.secret))?.expiresAt).toBe(now + 1_000);
  });

  it('ends an overlap no later than the key expires, even if its expiration is moved up later', async () => {
    const expiresAt = stores.clock.now() + 600_000;
    const { key, secret } = await create({ expires_at: new Date(expiresAt).toISOString() });
    const { previousSecretExpiresAt } = await stores.keys.rotate(key.id, { overlap_seconds: 86_400 }, OPERATOR);
    expect(previousSecretExpiresAt).toBe(expiresAt);
    const sooner = new Date(stores.clock.now() + 1_000).toISOString();
    await stores.keys.update(key.id, { expires_at: sooner }, OPERATOR);
    expect(await lookUp(secret)).toMatchObject({ expiresAt: Date.parse(sooner), rotatedOut: false });
  });

  it('refuses to rotate a revoked or an expired key', async () => {
    const revoked = await create();
    await stores.keys.revoke(revoked.key.id, OPERATOR);
    await expect(stores.keys.rotate(revoked.key.id, { overlap_seconds: 0 }, OPERATOR)).rejects.toEqual(
      problem('conflict'),
    );
    const expiring = await create({ expires_at: new Date(stores.clock.now() + 1_000).toISOString() });
    stores.clock.advance(1_000);
    expect((await stores.keys.get(expiring.key.id)).status).toBe('expired');
    await expect(stores.keys.rotate(expiring.key.id, { overlap_seconds: 0 }, OPERATOR)).rejects.toEqual(
      problem('conflict'),
    );
  });

  it('leaves one current and one previous secret valid after ten concurrent rotations', async () => {
    const { key } = await create();
    const next = { overlap_seconds: 3_600, end_previous_secret: true } as const;
    await Promise.all(Array.from({ length: 10 }, () => stores.keys.rotate(key.id, next, OPERATOR)));
    const rows = await database.db.selectFrom('api_key_secret').selectAll().where('api_key_id', '=', key.id).execute();
    const now = stores.clock.now();
    expect(rows.filter(({ expires_at }) => expires_at === null)).toHaveLength(1);
    expect(rows.filter(({ expires_at }) => expires_at === null || expires_at > now)).toHaveLength(2);
  });

  it('revokes permanently, and a repeated revocation only notifies the nodes again', async () => {
    const { key, secret } = await create();
    const revoked = await stores.keys.revoke(key.id, OPERATOR);
    stores.clock.advance(5_000);
    expect(await stores.keys.revoke(key.id, OPERATOR)).toEqual(revoked);
    expect(await lookUp(secret)).toMatchObject({ keyStatus: 'revoked' });
    await expect(stores.keys.update(key.id, { name: 'again' }, OPERATOR)).rejects.toEqual(problem('conflict'));
    expect(stores.bus.published).toEqual(Array(3).fill({ type: 'api_key', accountId, keyId: key.id }));
    expect(await audited()).toEqual(['account.created', 'api_key.created', 'api_key.revoked']);
  });

  it('updates only the given fields, and records only changed fields in the audit log', async () => {
    const { key } = await create({ allowed_ips: ['203.0.113.7'] });
    const updated = await stores.keys.update(key.id, { name: 'New', scopes: ['tours:read'] }, OPERATOR);
    expect(updated).toMatchObject({
      name: 'New',
      scopes: ['tours:read'],
      allowed_ips: ['203.0.113.7'],
      expiresAt: null,
    });
    await stores.keys.update(key.id, { name: 'New' }, OPERATOR);
    const [latest] = (await stores.auditLog.list({ limit: 1, accountId })).data;
    expect(latest).toMatchObject({
      action: 'api_key.updated',
      targetType: 'api_key',
      targetId: key.id,
      before: { name: 'k', scopes: ['customers:read'] },
      after: { name: 'New', scopes: ['tours:read'] },
      ...OPERATOR,
    });
  });

  it('returns a new plan, time zone, billing day and status on the next lookup, and publishes the change', async () => {
    const { secret } = await create();
    const changes = { plan: 'pro', time_zone: 'Asia/Tokyo', billing_day: 15, status: 'suspended' } as const;
    await stores.accounts.update(accountId, changes, OPERATOR);
    const { plan, status: accountStatus } = changes;
    expect(await lookUp(secret)).toMatchObject({ plan, timeZone: 'Asia/Tokyo', billingDay: 15, accountStatus });
    expect(stores.bus.published.at(-1)).toEqual({ type: 'account', accountId });
    expect(await audited()).toEqual(['account.created', 'api_key.created', 'account.updated']);
  });

  it('rolls back and publishes nothing when the audit entry cannot be written', async () => {
    const broken = { ...OPERATOR, requestId: null as unknown as string };
    const { key } = await create();
    const before = stores.bus.published.length;
    await expect(stores.keys.revoke(key.id, broken)).rejects.toThrow(/null/i);
    await expect(stores.keys.create(accountId, newKey(), broken)).rejects.toThrow(/null/i);
    expect((await stores.keys.get(key.id)).status).toBe('active');
    expect((await stores.keys.list(account, inOrder(10))).data).toHaveLength(1);
    expect(stores.bus.published).toHaveLength(before);
  });

  it('lists each key of an account once across pages, and none of another account', async () => {
    const other = await stores.accounts.create(newAccount, OPERATOR);
    await stores.keys.create(other.id, newKey(), OPERATOR);
    const made: string[] = [];
    for (let count = 0; count < 7; count += 1) made.push((await create()).key.id);
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await stores.keys.list(account, { ...inOrder(3), cursor });
      seen.push(...page.data.map(({ id }) => id));
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
    expect(seen).toEqual(made);
    const { nextCursor } = await stores.keys.list(account, inOrder(1));
    await expect(stores.keys.list(other, { ...inOrder(1), cursor: nextCursor ?? '' })).rejects.toEqual(
      problem('invalid_cursor'),
    );
    await expect(stores.accounts.list({ limit: 1, cursor: 'junk' })).rejects.toEqual(problem('invalid_cursor'));
  });

  it('records the latest use of several keys, and never an earlier one', async () => {
    const [a, b] = [await create(), await create()];
    const note = (...times: [string, number][]) => stores.keys.touchLastUsed(usesOf(new Map(times)));
    await note([a.key.id, 2_000], [b.key.id, 2_000], ['key_gone', 9_000]);
    await note([a.key.id, 1_000], [b.key.id, 3_000]);
    await note();
    expect((await stores.keys.get(a.key.id)).lastUsedAt).toBe(2_000);
    expect((await stores.keys.get(b.key.id)).lastUsedAt).toBe(3_000);
  });

  it('records the use of 2,000 among 20,000 keys within the statement deadline', async () => {
    const { key } = await create();
    const row = await database.db.selectFrom('api_key').selectAll().where('id', '=', key.id).executeTakeFirstOrThrow();
    const ids = Array.from({ length: 20_000 }, (_, index) => `key_many${String(index).padStart(20, '0')}`);
    for (let at = 0; at < ids.length; at += 500) {
      const rows = ids.slice(at, at + 500).map((id) => ({ ...row, id }));
      await database.db.insertInto('api_key').values(rows).execute();
    }
    const used = ids.slice(0, 2_000);
    await stores.keys.touchLastUsed(usesOf(new Map(used.map((id) => [id, 5_000]))));
    const noted = database.db.selectFrom('api_key').select('id').where('last_used_at', '=', 5_000);
    expect((await noted.orderBy('id').execute()).map(({ id }) => id)).toEqual(used);
  });

  it('deletes a rotated secret a year after its overlap ended, and never a current one', async () => {
    const { key, secret } = await create();
    const { secret: current } = await stores.keys.rotate(key.id, { overlap_seconds: 3_600 }, OPERATOR);
    stores.clock.advance(365 * 86_400_000);
    await stores.keys.deleteDeadSecrets();
    expect(await lookUp(secret)).toBeDefined();
    stores.clock.advance(HOUR_MS + 1);
    expect(await stores.keys.deleteDeadSecrets()).toBeGreaterThanOrEqual(1);
    expect(await lookUp(secret)).toBeUndefined();
    expect(await lookUp(current)).toBeDefined();
  });

  it('stores no secret in plain text in any table', async () => {
    const { key, secret } = await create();
    const { secret: rotated } = await stores.keys.rotate(key.id, { overlap_seconds: 3_600 }, OPERATOR);
    const tables = await database.db.introspection.getTables();
    expect(tables.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['account', 'api_key_secret', 'audit_entry']),
    );
    const rows = await Promise.all(
      tables.map(async ({ name }) => (await sql<object>`select * from ${sql.table(name)}`.execute(database.db)).rows),
    );
    const texts = rows
      .flat()
      .flatMap((row) => Object.values(row))
      .map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : JSON.stringify(value)));
    const text = texts.join('\n');
    expect(text).toContain(hashSecret(rotated));
    for (const each of [secret, rotated]) expect(text).not.toContain(each.slice(8, 30));
  });
});
