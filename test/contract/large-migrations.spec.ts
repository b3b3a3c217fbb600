/** Migrations of databases with many rows. Each statement can take a minute at startup. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { sql } from 'kysely';
import { openDatabase, type DatabaseHandle } from '../../src/stores/database/connect.js';
import { emptyDatabase, emptyUntil, type TestDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';

const MANY = 20_000;
const ROWS = `with recursive row (n) as (select 1 union all select n + 1 from row where n < ${MANY})`;

describeOnDatabases('a migration of many rows', (kind) => {
  let place: TestDatabase;
  let handle: DatabaseHandle;

  beforeEach(async () => {
    place = await emptyDatabase(kind);
    handle = await openDatabase(place.options);
  });
  afterEach(async () => {
    await handle.close();
    await place.drop();
  });

  const fill = (statement: string) => sql.raw(statement.replace('ROWS', ROWS)).execute(handle.db);

  it('verifies the addresses of 20,000 members within five seconds', async () => {
    await emptyUntil(handle, '0026_oauth_origins');
    await fill(`insert into member (id, email, email_key, name, is_operator, status, version, created_at, updated_at)
      ROWS select 'mem_' || n, 'p' || n || '@example.com', 'p' || n, '', 0, 'active', 1, 1, 1 from row`);
    await fill(`insert into link (hash, id, kind, member_id, created_by, created_at, expires_at, used_at)
      ROWS select 'hash' || n, 'lnk_' || n, 'password_reset', 'mem_' || n, 'nobody', 1, 1, 7 from row`);
    await fill(`insert into mail (id, link_id, to_name, to_address, locale, content, state, tries, next_at, created_at)
      ROWS select 'mai_' || n, 'lnk_' || n, '', 'p' || n || '@example.com', 'en', '{}', 'sent', 1, 1, 1 from row`);
    await handle.close();
    const beganMs = performance.now();
    handle = await openDatabase(place.options);
    expect(performance.now() - beganMs).toBeLessThan(5_000);
    const verified = handle.db.selectFrom('member').select(({ fn }) => fn.countAll().as('count'));
    const { count } = await verified.where('email_verified_at', '=', 7).executeTakeFirstOrThrow();
    expect(Number(count)).toBe(MANY);
  }, 90_000);

  it('updates no key that was never rotated', async () => {
    await emptyUntil(handle, '0027_verified_addresses');
    await sql`insert into account (id, name, plan, time_zone, billing_day, status, created_at, updated_at)
      values ('acc_1', 'A', 'starter', 'UTC', 1, 'active', 1, 1)`.execute(handle.db);
    for (const id of ['key_1', 'key_2']) {
      await sql`insert into api_key (id, account_id, name, scopes, environment, status, allowed_ips, hint, created_at,
        updated_at) values (${id}, 'acc_1', '', '[]', 'live', 'active', '[]', '', 1, 1)`.execute(handle.db);
      await sql`insert into api_key_secret (hash, api_key_id, created_at) values (${id}, ${id}, 1)`.execute(handle.db);
    }
    await sql`insert into api_key_secret (hash, api_key_id, created_at, expires_at) values ('old', 'key_2', 1, 9)`.execute(
      handle.db,
    );
    await sql`create table written (id text primary key)`.execute(handle.db);
    if (kind === 'postgres') {
      await sql
        .raw(
          `create function note() returns trigger language plpgsql as
           'begin insert into written values (new.id); return new; end'`,
        )
        .execute(handle.db);
    }
    const noting = kind === 'postgres' ? 'execute function note()' : 'begin insert into written values (new.id); end';
    await sql.raw(`create trigger noting after update on api_key for each row ${noting}`).execute(handle.db);
    await handle.close();
    handle = await openDatabase(place.options);
    expect((await sql`select id from written`.execute(handle.db)).rows).toEqual([{ id: 'key_2' }]);
    const keys = handle.db.selectFrom('api_key').select('previous_secret_expires_at').orderBy('id');
    expect(await keys.execute()).toEqual([{ previous_secret_expires_at: null }, { previous_secret_expires_at: 9 }]);
  });

  it('keeps the indexes of events that exist before the upgrade', async () => {
    await emptyUntil(handle, '0034_deleted_keys');
    const statements = readFileSync('docs/upgrade.md', 'utf8').match(/^create index concurrently .*;$/gm) ?? [];
    expect(statements).toHaveLength(2);
    for (const statement of statements) {
      await sql.raw(kind === 'postgres' ? statement : statement.replace('concurrently', '')).execute(handle.db);
    }
    await handle.close();
    handle = await openDatabase(place.options);
    expect(handle.migrated).toMatchObject({ from: '0034_deleted_keys', first: '0035_event_filters' });
  });
});
