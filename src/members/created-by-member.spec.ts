import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { join } from 'node:path';
import { CompiledQuery, Kysely } from 'kysely';
import { openDatabase, SQLITE_FILE } from '../database/connect.js';
import type { Tables } from '../database/schema.js';
import { sqliteDialect } from '../database/sqlite-dialect.js';
import { emptyDatabase, type TestDatabase } from '../../test/support/database.js';
import { readKept } from './created-by-member.js';

let place: TestDatabase;
let db: Kysely<Tables>;
const queries: CompiledQuery[] = [];

beforeAll(async () => {
  place = await emptyDatabase('sqlite');
  await (await openDatabase(place.options)).close();
  const file = join(place.options.dataDir, SQLITE_FILE);
  const dialect = sqliteDialect({ file, busyTimeoutMs: 1_000, deadlineMs: 5_000 });
  db = new Kysely({ dialect, log: ({ query }) => void queries.push(query) });
});
afterAll(async () => {
  await db.destroy();
  await place.drop();
});

it.each([undefined, 'acc_1'])('looks up what a member created, and reads no table as a whole (%s)', async (account) => {
  queries.splice(0);
  await readKept(db, 'mem_1', account);
  const asked = queries.splice(0);
  expect(asked).toHaveLength(2);
  for (const { sql, parameters } of asked) {
    const { rows } = await db.executeQuery<{ detail: string }>(
      CompiledQuery.raw(`explain query plan ${sql}`, [...parameters]),
    );
    const plan = rows.map(({ detail }) => detail).join('\n');
    expect(plan).toContain('audit_entry_creations (actor=? AND action=?)');
    expect(plan).not.toMatch(/SCAN (?:api_key|webhook_endpoint|audit_entry)/);
  }
});
