/** Guarantees of paused keys, on SQLite and PostgreSQL. */
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { createAccountSchema } from '../../src/records/account-fields.js';
import { createApiKeySchema } from '../../src/accounts/api-key-fields.js';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { digestOf } from '../../src/keys/api-key-format.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { OPERATOR, storesOn } from '../support/stores.js';

const CONFLICT = expect.objectContaining({ code: 'conflict' });

describeOnDatabases('a key', (kind) => {
  let database: DatabaseHandle;
  let stores: ReturnType<typeof storesOn>;
  let accountId: string;

  beforeAll(async () => {
    database = await testDatabase(kind);
  });
  afterAll(() => database.close());
  beforeEach(async () => {
    stores = storesOn(database);
    const account = createAccountSchema.parse({ name: 'Salzach Rafting', plan: 'starter' });
    accountId = (await stores.accounts.create(account, OPERATOR)).id;
  });

  const create = (fields: object = {}) => {
    const key = createApiKeySchema.parse({ name: 'k', scopes: ['customers:read'], ...fields });
    return stores.keys.create(accountId, key, OPERATOR);
  };
  const lookUp = async (secret: string) => (await stores.keys.findByHashes([digestOf(secret)]))[0];
  const audited = async () =>
    (await stores.auditLog.list({ limit: 100, accountId })).data.map(({ action }) => action).toReversed();

  it('that is paused and resumed is unchanged, with an event for all nodes and audit entries', async () => {
    const { key, secret } = await create();
    const paused = await stores.keys.pause(key.id, OPERATOR);
    expect(paused.status).toBe('paused');
    stores.clock.advance(5_000);
    expect(await stores.keys.pause(key.id, OPERATOR)).toEqual(paused);
    expect(await lookUp(secret)).toMatchObject({ keyStatus: 'paused' });
    const resumed = await stores.keys.resume(key.id, OPERATOR);
    expect(resumed).toEqual({ ...key, updatedAt: stores.clock.now(), version: 3 });
    expect(await stores.keys.resume(key.id, OPERATOR)).toEqual(resumed);
    expect(await lookUp(secret)).toMatchObject({ keyStatus: 'active' });
    expect(stores.bus.published).toEqual(Array(5).fill({ type: 'api_key', accountId, keyId: key.id }));
    expect(await audited()).toEqual(['account.created', 'api_key.created', 'api_key.paused', 'api_key.resumed']);
  });

  it('that is paused can be updated, rotated and revoked, and still expires', async () => {
    const { key } = await create({ expires_at: new Date(stores.clock.now() + 60_000).toISOString() });
    await stores.keys.pause(key.id, OPERATOR);
    expect(await stores.keys.update(key.id, { name: 'n' }, OPERATOR)).toMatchObject({ status: 'paused', name: 'n' });
    const rotated = await stores.keys.rotate(key.id, { overlap_seconds: 0 }, OPERATOR);
    expect(rotated.key.status).toBe('paused');
    expect(await lookUp(rotated.secret)).toMatchObject({ keyStatus: 'paused' });
    stores.clock.advance(60_000);
    expect((await stores.keys.get(key.id)).status).toBe('expired');
    expect((await stores.keys.revoke(key.id, OPERATOR)).status).toBe('revoked');
  });

  it('that is revoked can be neither paused nor resumed', async () => {
    const { key } = await create();
    await stores.keys.revoke(key.id, OPERATOR);
    await expect(stores.keys.pause(key.id, OPERATOR)).rejects.toEqual(CONFLICT);
    await expect(stores.keys.resume(key.id, OPERATOR)).rejects.toEqual(CONFLICT);
    await expect(stores.keys.resume('key_none', OPERATOR)).rejects.toMatchObject({ code: 'resource_not_found' });
  });
});
