/** Sums of the usage table are complete with any page size, on SQLite and PostgreSQL. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { encodeCursor } from '../../src/stores/database/cursor.js';
import { Problem } from '../../src/platform/problems/errors.js';
import type { UsageGroup, UsageQuery } from '../../src/quota/usage/usage-query.js';
import { UsageRows, type UsageRow } from '../../src/quota/usage/usage-rows.js';
import { UsageTable } from '../../src/quota/usage/usage-table.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';

const ACCOUNT = { accountId: 'acc_1', keyId: undefined };

const query = (groups: UsageGroup[], change: Partial<UsageQuery> = {}): UsageQuery => ({
  groups,
  from: 20_261_101,
  to: 20_261_130,
  limit: 100,
  cursor: undefined,
  ...change,
});

describeOnDatabases('usage rows', (kind) => {
  let database: DatabaseHandle;
  let rows: UsageRows;
  beforeEach(async () => {
    database = await testDatabase(kind);
    rows = new UsageRows(database.db);
    const change = (
      accountId: string,
      keyId: string,
      operation: string,
      day: number,
      outcome: string,
      cost: number,
    ) => {
      return { accountId, keyId, operation, month: 20_261_101, day, outcome, requests: 1, cost };
    };
    const usage = [
      change('acc_1', 'key_1', 'list', 20_261_119, 'success', 1),
      change('acc_1', 'key_1', 'list', 20_261_120, 'success', 2),
      change('acc_1', 'key_1', 'read', 20_261_120, 'client_error', 4),
      change('acc_1', 'key_2', 'read', 20_261_120, 'rate_limited', 0),
      change('acc_1', 'key_2', 'read', 20_261_120, 'in_flight', 8),
      change('acc_1', '', '', 20_261_121, 'unrecorded', 16),
      change('acc_1', 'key_1', 'list', 20_261_201, 'success', 32),
      change('acc_2', 'key_9', 'list', 20_261_120, 'success', 64),
    ];
    await new UsageTable(database.db, database.kind, true).write('node', { number: 1, usage, counters: [] }, 1);
  });
  afterEach(() => database.close());

  const sums = async (groups: UsageGroup[], owner = ACCOUNT as { accountId: string; keyId: string | undefined }) =>
    (await rows.readPage(owner, query(groups))).data;

  it('are sums by the requested groups in order, and include requests in flight', async () => {
    expect(await sums(['day'])).toEqual([
      { day: '2026-11-19', requests: 1, cost: 1 },
      { day: '2026-11-20', requests: 4, cost: 14 },
      { day: '2026-11-21', requests: 1, cost: 16 },
    ]);
    expect(await sums(['operation', 'outcome'])).toEqual([
      { operation: null, outcome: 'unrecorded', requests: 1, cost: 16 },
      { operation: 'list', outcome: 'success', requests: 2, cost: 3 },
      { operation: 'read', outcome: 'client_error', requests: 1, cost: 4 },
      { operation: 'read', outcome: 'in_flight', requests: 1, cost: 8 },
      { operation: 'read', outcome: 'rate_limited', requests: 1, cost: 0 },
    ]);
    expect(await sums(['month', 'api_key'])).toEqual([
      { month: '2026-11-01', api_key_id: null, requests: 1, cost: 16 },
      { month: '2026-11-01', api_key_id: 'key_1', requests: 3, cost: 7 },
      { month: '2026-11-01', api_key_id: 'key_2', requests: 2, cost: 8 },
    ]);
  });

  it('are limited to the requested key, and never include another account', async () => {
    expect(await sums(['outcome'], { accountId: 'acc_1', keyId: 'key_1' })).toEqual([
      { outcome: 'client_error', requests: 1, cost: 4 },
      { outcome: 'success', requests: 2, cost: 3 },
    ]);
    expect(await sums(['outcome'], { accountId: 'acc_1', keyId: 'key_9' })).toEqual([]);
    expect(await sums(['outcome'], { accountId: 'acc_3', keyId: undefined })).toEqual([]);
  });

  it.each([1, 2, 3])('are the same in pages of %i', async (limit) => {
    const groups: UsageGroup[] = ['day', 'api_key', 'operation', 'outcome'];
    const whole = await sums(groups);
    expect(whole).toHaveLength(6);
    const paged: UsageRow[] = [];
    for await (const page of rows.readAllPages(ACCOUNT, query(groups, { limit }))) paged.push(...page);
    expect(paged).toEqual(whole);
  });

  it('leave out sums of zero', async () => {
    const ended = { accountId: 'acc_1', keyId: 'key_2', operation: 'read', month: 20_261_101, day: 20_261_120 };
    const usage = [{ ...ended, outcome: 'in_flight', requests: -1, cost: -8 }];
    await new UsageTable(database.db, database.kind, true).write('node', { number: 2, usage, counters: [] }, 2);
    expect((await sums(['outcome'])).map(({ outcome }) => outcome)).not.toContain('in_flight');
  });

  it.each([
    ['of another list', encodeCursor('accounts', 'acc_1')],
    ['that is none', '%%%'],
    ['with another number of values', encodeCursor('usage:acc_1::day', '[1,2]')],
    ['with a value of another kind', encodeCursor('usage:acc_1::day', '["x"]')],
    ['with no values', encodeCursor('usage:acc_1::day', 'x')],
    ['with a day that no column holds', encodeCursor('usage:acc_1::day', '[9007199254740991]')],
  ])('reject a cursor %s', async (_what, cursor) => {
    const page = rows.readPage(ACCOUNT, query(['day'], { cursor }));
    await expect(page).rejects.toThrow(Problem);
    await expect(page).rejects.toMatchObject({ code: 'invalid_cursor' });
  });

  it.each(['\u0000', 'a\u0000b'])('reject a cursor with the text %j, which no column can hold', async (text) => {
    const cursor = encodeCursor('usage:acc_1::operation', JSON.stringify([text]));
    const page = rows.readPage(ACCOUNT, query(['operation'], { cursor }));
    await expect(page).rejects.toMatchObject({ code: 'invalid_cursor' });
  });
});
