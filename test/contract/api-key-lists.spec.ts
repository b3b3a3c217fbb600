/** Lists of keys on SQLite and PostgreSQL: search, filters, sort order and cursors. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createAccountSchema } from '../../src/records/account-fields.js';
import type { Account } from '../../src/accounts/accounts.js';
import { createApiKeySchema } from '../../src/accounts/api-key-fields.js';
import type { ApiKeyQuery, ListedApiKey } from '../../src/accounts/api-key-list.js';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { calendarOf } from '../../src/quota/model/month-period.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { OPERATOR, storesOn, usesOf } from '../support/stores.js';

const newAccount = createAccountSchema.parse({ name: 'Salzach', plan: 'starter', time_zone: 'Europe/Vienna' });

describeOnDatabases('a list of keys', (kind) => {
  let database: DatabaseHandle;
  let stores: ReturnType<typeof storesOn>;
  let account: Account;

  beforeAll(async () => {
    database = await testDatabase(kind);
  });
  afterAll(() => database.close());
  beforeEach(async () => {
    stores = storesOn(database);
    account = await stores.accounts.create(newAccount, OPERATOR);
  });

  const create = async (name: string, fields: object = {}) => {
    const key = createApiKeySchema.parse({ name, scopes: ['customers:read'], ...fields });
    return (await stores.keys.create(account.id, key, OPERATOR)).key;
  };
  const page = (query: Partial<ApiKeyQuery> = {}) =>
    stores.keys.list(account, { limit: 100, sort: 'created', order: 'asc', ...query });
  /** Returns the keys of all pages, with two keys per page. Calls `between` after each page. */
  const all = async (query: Partial<ApiKeyQuery> = {}, between: () => Promise<unknown> = async () => {}) => {
    const keys: ListedApiKey[] = [];
    let cursor: string | undefined;
    do {
      const next = await page({ ...query, limit: 2, cursor });
      keys.push(...next.data);
      cursor = next.nextCursor ?? undefined;
      await between();
    } while (cursor !== undefined);
    return keys;
  };
  const names = async (query: Partial<ApiKeyQuery> = {}) => (await all(query)).map(({ name }) => name);

  describe('searched by', () => {
    it.each([
      ['res', ['Reservación', 'PRESS']],
      ['RESERVACION', ['Reservación']],
      ['%', ['100 % safe']],
      ['_', ['a_b']],
      ['\\', [String.raw`back\slash`]],
      ["'", ["O'Neill"]],
      ['nothing', []],
      ['', ['Reservación', 'PRESS', '100 % safe', 'a_b', 'axb', String.raw`back\slash`, "O'Neill"]],
    ])('%j finds names that contain it, and treats pattern characters literally', async (q, found) => {
      const made = ['Reservación', 'PRESS', '100 % safe', 'a_b', 'axb', String.raw`back\slash`, "O'Neill"];
      for (const name of made) await create(name);
      expect(await names({ q })).toEqual(found);
    });

    it('ID, hint or the last characters of the secret finds that key', async () => {
      const key = await create('one');
      await create('two', { environment: 'test' });
      for (const q of [key.id, key.hint, key.hint.slice(-4)]) expect(await names({ q })).toEqual(['one']);
    });

    it('name finds a renamed key by its new name only', async () => {
      const { id } = await create('before');
      await stores.keys.update(id, { name: 'Después' }, OPERATOR);
      expect(await names({ q: 'despues' })).toEqual(['Después']);
      expect(await names({ q: 'before' })).toEqual([]);
    });
  });

  it('filters by current status, by environment, or by both', async () => {
    const soon = new Date(stores.clock.now() + 1_000).toISOString();
    await create('active');
    await create('test', { environment: 'test' });
    await create('expiring', { expires_at: soon });
    await stores.keys.pause((await create('paused')).id, OPERATOR);
    await stores.keys.pause((await create('paused, over', { expires_at: soon })).id, OPERATOR);
    await stores.keys.revoke((await create('revoked', { expires_at: soon })).id, OPERATOR);
    expect(await names({ statuses: ['active'] })).toEqual(['active', 'test', 'expiring']);
    stores.clock.advance(1_000);
    expect(await names({ statuses: ['active'] })).toEqual(['active', 'test']);
    expect(await names({ statuses: ['paused'] })).toEqual(['paused']);
    expect(await names({ statuses: ['expired'] })).toEqual(['expiring', 'paused, over']);
    expect(await names({ statuses: ['revoked', 'paused'] })).toEqual(['paused', 'revoked']);
    expect(await names({ statuses: ['active'], environment: 'test' })).toEqual(['test']);
    for (const { status } of (await page()).data) {
      expect((await page({ statuses: [status] })).data.every((key) => key.status === status)).toBe(true);
    }
  });

  describe('sorted by', () => {
    it.each(['created', 'name', 'last_used'] as const)(
      '%s returns each key once in either direction, even when values are equal',
      async (sort) => {
        const made: string[] = [];
        for (const name of ['same', 'b', 'same', 'Same', 'a', 'same', 'c']) made.push((await create(name)).id);
        const used = new Map(made.slice(2, 5).map((id) => [id, 5_000]));
        await stores.keys.touchLastUsed(usesOf(used.set(made[6]!, 9_000)));
        const upwards = (await all({ sort })).map(({ id }) => id);
        expect(upwards.toSorted()).toEqual(made);
        expect((await all({ sort, order: 'desc' })).map(({ id }) => id)).toEqual(upwards.toReversed());
        const sorted = {
          created: [0, 1, 2, 3, 4, 5, 6],
          name: [4, 1, 6, 0, 2, 3, 5],
          last_used: [0, 1, 5, 2, 3, 4, 6],
        };
        expect(upwards).toEqual(sorted[sort].map((index) => made[index]));
      },
    );

    it('last use shows no key twice while keys are used between two pages', async () => {
      const made: string[] = [];
      for (let at = 1; at <= 8; at++) made.push((await create(`k${at}`)).id);
      await stores.keys.touchLastUsed(usesOf(new Map(made.map((id, at) => [id, 1_000 + at]))));
      let now = 10_000;
      // Uses the key after which the next page would begin. It moves to the top of the list.
      const shown = await all({ sort: 'last_used', order: 'desc' }, async () => {
        const [last] = (await page({ sort: 'last_used', order: 'desc', limit: 100 })).data.slice(-5);
        await stores.keys.touchLastUsed(usesOf(new Map([[last!.id, (now += 1)]])));
      });
      expect(new Set(shown.map(({ id }) => id)).size).toBe(shown.length);
    });
  });

  it('shows the usage of each key in this month, and its own limit including grants', async () => {
    const plain = await create('plain');
    const limited = await create('limited', { limits: { month: 50 } });
    const granted = await create('granted', { limits: { month: 50 } });
    const month = calendarOf('Europe/Vienna', 1).at(stores.clock.now()).label;
    const counters = [
      { account_id: account.id, api_key_id: plain.id, period: month, used: 7, updated_at: 1 },
      { account_id: account.id, api_key_id: plain.id, period: month - 100, used: 99, updated_at: 1 },
      { account_id: account.id, api_key_id: '', period: month, used: 7, updated_at: 1 },
    ];
    await database.db.insertInto('quota_counter').values(counters).execute();
    const grant = { grant_period: month, grant_amount: 30 };
    await database.db.updateTable('api_key').set(grant).where('id', '=', granted.id).execute();
    expect((await page()).data.map(({ id, monthUsed, monthLimit }) => [id, monthUsed, monthLimit])).toEqual([
      [plain.id, 7, null],
      [limited.id, 0, 50],
      [granted.id, 0, 80],
    ]);
  });

  it('rejects a forged cursor, and one of another account, order, search or filter', async () => {
    for (const name of ['a', 'b']) await create(name);
    const { nextCursor } = await page({ limit: 1, sort: 'name' });
    const cursor = nextCursor ?? '';
    const refused = expect.objectContaining({ code: 'invalid_cursor' });
    expect((await page({ sort: 'name', cursor })).data.map(({ name }) => name)).toEqual(['b']);
    const others: Partial<ApiKeyQuery>[] = [
      { sort: 'created' },
      { sort: 'name', order: 'desc' },
      { sort: 'name', q: 'a' },
      { sort: 'name', statuses: ['active'] },
      { sort: 'name', environment: 'live' },
    ];
    for (const query of others) await expect(page({ ...query, cursor })).rejects.toEqual(refused);
    const other = await stores.accounts.create(newAccount, OPERATOR);
    const byName = { limit: 1, sort: 'name', order: 'asc' } as const;
    await expect(stores.keys.list(other, { ...byName, cursor })).rejects.toEqual(refused);
    const [version, list] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as [number, string];
    for (const position of ['', '[]', '["a"]', '[1,"key_1"]', '["a",null]', '["a\\u0000","key_1"]', '["a","b","c"]']) {
      const forged = Buffer.from(JSON.stringify([version, list, position])).toString('base64url');
      await expect(page({ sort: 'name', cursor: forged })).rejects.toEqual(refused);
    }
  });
});
