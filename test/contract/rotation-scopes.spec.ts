/** Whether somebody may be given a new secret of a key is asked of the key as it is rotated, on both databases. */
import { expect, it } from '@jest/globals';
import { createAccountSchema } from '../../src/accounts/account-fields.js';
import { createApiKeySchema } from '../../src/accounts/api-key-fields.js';
import { Problem } from '../../src/problems/errors.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { OPERATOR, storesOn } from '../support/stores.js';

const newAccount = createAccountSchema.parse({ name: 'Salzach Rafting', plan: 'starter' });
const newKey = createApiKeySchema.parse({ name: 'k', scopes: ['customers:read'] });

describeOnDatabases('a rotation', (kind) => {
  it('is asked for by the scopes that the key has in it, not a moment before, and makes nothing where it may not', async () => {
    const database = await testDatabase(kind);
    const stores = storesOn(database);
    const { id: accountId } = await stores.accounts.create(newAccount, OPERATOR);
    const { key } = await stores.keys.create(accountId, newKey, OPERATOR);
    const hold = Promise.withResolvers<void>();
    const widened = database.db.transaction().execute(async (trx) => {
      await trx.updateTable('api_key').set({ scopes: '["*"]' }).where('id', '=', key.id).execute();
      await hold.promise;
    });
    const asked: string[][] = [];
    const rotated = stores.keys.rotate(key.id, 0, OPERATOR, undefined, (scopes) => {
      asked.push([...scopes]);
      throw new Problem('forbidden');
    });
    hold.resolve();
    const [, refused] = await Promise.allSettled([widened, rotated]);
    expect(refused).toMatchObject({ status: 'rejected', reason: { code: 'forbidden' } });
    expect(asked).toEqual([['*']]);
    expect(await stores.keys.get(key.id)).toMatchObject({ hint: key.hint, version: 1 });
    await database.close();
  });
});
