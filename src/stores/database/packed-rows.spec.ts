/** SQLite reads packed rows exactly as they were bound. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { testDatabase } from '../../../test/support/database.js';
import type { DatabaseHandle } from './connect.js';
import type { JsonColumn } from './json-rows.js';
import { packedRows } from './packed-rows.js';

const COLUMNS: readonly JsonColumn[] = [
  { name: 'id', type: 'text' },
  { name: 'name', type: 'text' },
  { name: 'day', type: 'bigint' },
  { name: 'amount', type: 'bigint' },
];
type Row = [string, string, number, number];

const PACKED: Record<string, Row[]> = {
  'a single row': [['acc_1', 'list', 20261120, -7]],
  'texts of one length and numbers of many': [
    ['acc_1', 'list', 20261120, 1],
    ['acc_2', 'list', 20261120, 1_000_000_007],
    ['acc_3', 'read', 20261121, 0],
  ],
  'empty texts beside others': [
    ['acc_1', '', 20261120, 1],
    ['acc_1', 'key_1', 20261120, 1],
    ['', ' key', 20261120, 1],
  ],
  'numbers below zero and as large as they can be': [
    ['a', 'b', -3, -9_000_000_000_000],
    ['a', 'b', 0, 0],
    ['a', 'b', -20, 4_000_000_000_000],
  ],
  'quotes, and digits that are a text': [
    ["0'1", '"000', 1, 1],
    ["0'2", '1e3"', 1, 2],
  ],
  'a text of other characters that is the same in all rows': [
    ['é€', 'a', 1, 1],
    ['é€', 'b', 1, 1],
  ],
};
const NOT_PACKED: Record<string, Row[]> = {
  'texts of other characters': [
    ['é', 'a', 1, 1],
    ['€', 'b', 1, 1],
  ],
  'texts of different lengths that end with a space': [
    ['a ', 'a', 1, 1],
    ['abc', 'b', 1, 1],
  ],
  'numbers too far apart to count the distance': [
    ['a', 'a', 1, Number.MIN_SAFE_INTEGER],
    ['a', 'a', 1, Number.MAX_SAFE_INTEGER],
  ],
};

describe('rows bound as one value', () => {
  let database: DatabaseHandle;
  beforeAll(async () => {
    database = await testDatabase('sqlite');
  });
  afterAll(() => database.close());

  const statement = (rows: readonly Row[]) =>
    sql<Record<string, unknown>>`
      select id, name, day, amount, typeof(id) || typeof(name) as texts, typeof(day) || typeof(amount) as numbers
      from ${packedRows(COLUMNS, rows, 'packed')} where true
    `;
  const isPacked = (rows: readonly Row[]): boolean => !statement(rows).compile(database.db).sql.includes('jsonb');

  it.each(Object.entries({ ...PACKED, ...NOT_PACKED }))('can be %s', async (_, rows) => {
    const read = await statement(rows).execute(database.db);
    expect(read.rows).toEqual(
      rows.map(([id, name, day, amount]) => {
        return { id, name, day, amount, texts: 'texttext', numbers: 'integerinteger' };
      }),
    );
  });

  it('are packed if possible, and passed as JSON otherwise', () => {
    expect(Object.keys(PACKED).filter((name) => !isPacked(PACKED[name]!))).toEqual([]);
    expect(Object.keys(NOT_PACKED).filter((name) => isPacked(NOT_PACKED[name]!))).toEqual([]);
  });

  it('have the same statement whatever their values', () => {
    const rows = (count: number): Row[] =>
      Array.from({ length: count }, (_, index) => [`acc_${index}`, 'list', 20261120, index * 1_000]);
    expect(statement(rows(2)).compile(database.db).sql).toBe(statement(rows(9)).compile(database.db).sql);
  });

  it('can be empty', async () => {
    expect((await statement([]).execute(database.db)).rows).toEqual([]);
  });
});
