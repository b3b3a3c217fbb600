/** Authorizing a change of a key uses the row that the change has locked, on SQLite and PostgreSQL. */
import { expect, it } from '@jest/globals';
import type { AuthorizeChange } from '../../src/records/access-changes.js';
import { createAccountSchema } from '../../src/records/account-fields.js';
import { createApiKeySchema } from '../../src/accounts/api-key-fields.js';
import type { ApiKeyStore } from '../../src/accounts/api-key-store.js';
import type { ChangeContext } from '../../src/records/audit-log.js';
import { Problem } from '../../src/platform/problems/errors.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { OPERATOR, storesOn } from '../support/stores.js';

const newAccount = createAccountSchema.parse({ name: 'Salzach Rafting', plan: 'starter' });
const newKey = createApiKeySchema.parse({ name: 'k', scopes: ['customers:read'] });

describeOnDatabases('authorization of a change to a key that another transaction changes', (kind) => {
  it.each<[string, (keys: ApiKeyStore, id: string, context: ChangeContext) => Promise<unknown>]>([
    ['rotated', (keys, id, context) => keys.rotate(id, { overlap_seconds: 0 }, context)],
    ['updated', (keys, id, context) => keys.update(id, { name: 'x' }, context)],
    ['paused', (keys, id, context) => keys.pause(id, context)],
    ['revoked', (keys, id, context) => keys.revoke(id, context)],
  ])('uses the committed row, not an earlier read, when the key is %s', async (_what, change) => {
    const database = await testDatabase(kind);
    const stores = storesOn(database);
    const { id: accountId } = await stores.accounts.create(newAccount, OPERATOR);
    const { key } = await stores.keys.create(accountId, newKey, OPERATOR);
    const isWidened = Promise.withResolvers<void>();
    const hold = Promise.withResolvers<void>();
    const widened = database.db.transaction().execute(async (trx) => {
      await trx.updateTable('api_key').set({ scopes: '["*"]' }).where('id', '=', key.id).execute();
      isWidened.resolve();
      await hold.promise;
    });
    await isWidened.promise;
    const authorized: unknown[] = [];
    const authorize: AuthorizeChange = (what, before) => {
      authorized.push([what, before]);
      throw new Problem('forbidden');
    };
    const changed = change(stores.keys, key.id, { ...OPERATOR, authorize });
    hold.resolve();
    const [, refused] = await Promise.allSettled([widened, changed]);
    expect(refused).toMatchObject({ status: 'rejected', reason: { code: 'forbidden' } });
    expect(authorized).toEqual([['api_key', expect.objectContaining({ scopes: ['*'] })]]);
    expect(await stores.keys.get(key.id)).toMatchObject({ hint: key.hint, status: 'active', version: 1 });
    await database.close();
  });
});
