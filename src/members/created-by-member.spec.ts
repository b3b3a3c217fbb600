import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { join } from 'node:path';
import { CompiledQuery, Kysely } from 'kysely';
import { openDatabase, SQLITE_FILE } from '../stores/database/connect.js';
import type { Tables } from '../stores/database/schema.js';
import { sqliteDialect } from '../stores/database/sqlite-dialect.js';
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

it.each([undefined, 'acc_1'])(
  'looks up the objects that a member created without scanning a whole table (%s)',
  async (account) => {
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
  },
);

it('lists keys that were created before the audit log had versions', async () => {
  const own = `insert into account (id, name, plan, time_zone, billing_day, status, created_at, updated_at)
    values ('acc_1', 'A', 'starter', 'UTC', 1, 'active', 1, 1)`;
  await db.executeQuery(CompiledQuery.raw(own));
  const entries = [
    ['key_1', 'api_key.created', null],
    ['key_2', 'api_key.created', 1],
    ['key_3', 'api_key.updated', null],
  ] as const;
  for (const [id, action, version] of entries) {
    const key = `insert into api_key (id, account_id, name, scopes, environment, status, allowed_ips, hint, created_at,
      updated_at) values (?, 'acc_1', '', '[]', 'live', 'active', '[]', '', 1, 1)`;
    await db.executeQuery(CompiledQuery.raw(key, [id]));
    const entry = `insert into audit_entry (id, account_id, actor, action, target_type, target_id, ip, request_id,
      created_at, target_version) values (?, 'acc_1', 'mem_1', ?, 'api_key', ?, '', '', 1, ?)`;
    await db.executeQuery(CompiledQuery.raw(entry, [`aud_${id}`, action, id, version]));
  }
  const { kept } = await readKept(db, 'mem_1', 'acc_1');
  expect(kept.map(({ id }) => id)).toEqual(['key_1', 'key_2']);
});
