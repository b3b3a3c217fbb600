/** Guarantees that both databases give to the stores. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { sql, type Kysely } from 'kysely';
import { openDatabase, type DatabaseHandle } from '../../src/stores/database/connect.js';
import { MIGRATIONS } from '../../src/stores/database/migrations.js';
import { isUniqueViolation } from '../../src/stores/database/database-errors.js';
import type { Tables } from '../../src/stores/database/schema.js';
import { StartError } from '../../src/platform/start-error.js';
import { VERSION } from '../../src/platform/version.js';
import { executeBatch, executeBatchInTransaction } from '../../src/stores/database/statement-batch.js';
import {
  answersNow,
  emptyDatabase,
  emptyUntil,
  migratedDatabase,
  testDatabase,
  type TestDatabase,
} from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';

const [FIRST = ''] = Object.keys(MIGRATIONS);
const NEWEST = Object.keys(MIGRATIONS).at(-1) ?? '';

const account = (id: string) => ({
  id,
  name: 'Salzach Rafting',
  plan: 'starter',
  time_zone: 'Europe/Vienna',
  billing_day: 1,
  status: 'active' as const,
  grant_period: 0,
  grant_amount: 0,
  created_at: 1_795_000_000_123,
  updated_at: 1_795_000_000_123,
  version: 1,
  external_id: null,
  metadata: null,
});

describeOnDatabases('the database', (kind) => {
  let handle: DatabaseHandle;

  beforeEach(async () => {
    handle = await testDatabase(kind);
  });
  afterEach(() => handle.close());

  it('returns milliseconds and counts as the numbers that were written', async () => {
    await handle.db.insertInto('account').values(account('acc_1')).execute();
    expect(await handle.db.selectFrom('account').selectAll().execute()).toEqual([{ ...account('acc_1'), search: '' }]);
  });

  it('rolls back a failed transaction completely', async () => {
    const failed = handle.db.transaction().execute(async (trx) => {
      await trx.insertInto('account').values(account('acc_1')).execute();
      await trx.insertInto('account').values(account('acc_1')).execute();
    });
    expect(isUniqueViolation(await failed.catch((error: unknown) => error))).toBe(true);
    expect(await handle.db.selectFrom('account').selectAll().execute()).toEqual([]);
  });

  const insert = (db: Kysely<Tables>, id: string) => db.insertInto('account').values(account(id)).compile();
  const ids = (db: Kysely<Tables>) => db.selectFrom('account').select('id').orderBy('id').compile();

  it('runs a batch of statements in one transaction: all of them or none', async () => {
    const { db } = handle;
    const [, read] = await executeBatchInTransaction(db, [insert(db, 'acc_1'), ids(db)]);
    expect(read?.rows).toEqual([{ id: 'acc_1' }]);
    const failed = executeBatchInTransaction(db, [insert(db, 'acc_2'), insert(db, 'acc_1'), insert(db, 'acc_3')]);
    expect(isUniqueViolation(await failed.catch((error: unknown) => error))).toBe(true);
    expect((await executeBatch(db, [ids(db)]))[0]?.rows).toEqual([{ id: 'acc_1' }]);
  });

  it('runs a batch inside an open transaction, and rolls it back with that transaction', async () => {
    const { db } = handle;
    const failed = db.transaction().execute(async (trx) => {
      const [, read] = await executeBatch(trx, [insert(trx, 'acc_1'), ids(trx)]);
      await executeBatchInTransaction(trx, [insert(trx, 'acc_2')]);
      throw new Error(`${read?.rows.length} row`);
    });
    await expect(failed).rejects.toThrow('1 row');
    expect((await executeBatch(db, [ids(db)]))[0]?.rows).toEqual([]);
  });

  it('accepts a transaction without statements', async () => {
    await handle.db.transaction().execute(async () => undefined);
    const failed = handle.db.transaction().execute(() => Promise.reject(new Error('nothing done')));
    await expect(failed).rejects.toThrow('nothing done');
    expect(await answersNow(handle)).toBe(true);
  });

  it('serializes transactions that compete for a row, and loses no update', async () => {
    await handle.db
      .insertInto('account')
      .values({ ...account('acc_1'), billing_day: 0 })
      .execute();
    const increment = () =>
      handle.db.transaction().execute(async (trx) => {
        const lock = trx.updateTable('account').set({ updated_at: 1 }).where('id', '=', 'acc_1');
        await lock.execute();
        const { billing_day: day } = await trx.selectFrom('account').select('billing_day').executeTakeFirstOrThrow();
        await trx
          .updateTable('account')
          .set({ billing_day: day + 1 })
          .execute();
      });
    await Promise.all(Array.from({ length: 20 }, increment));
    const { billing_day: day } = await handle.db.selectFrom('account').select('billing_day').executeTakeFirstOrThrow();
    expect(day).toBe(20);
  });

  it('rejects a secret of a key that does not exist', async () => {
    const orphan = { hash: 'x', api_key_id: 'key_none', created_at: 1, expires_at: null };
    await expect(handle.db.insertInto('api_key_secret').values(orphan).execute()).rejects.toThrow(/foreign key/i);
  });

  it('deletes memberships, recovery codes, identities and sessions with their member', async () => {
    const { db } = handle;
    const times = { created_at: 1, updated_at: 1, version: 1 };
    await db.insertInto('account').values(account('acc_1')).execute();
    const nobody = { password: null, password_changed_at: null, totp_secret: null, totp_confirmed_at: null };
    const member = { id: 'mem_1', email: 'Ana@x.at', email_key: 'ana@x.at', name: 'Ana', is_operator: 0, ...nobody };
    const more = { status: 'active' as const, totp_last_step: 0, locale: null, last_signed_in_at: null };
    await db
      .insertInto('member')
      .values({ ...member, ...more, ...times, removed_at: null })
      .execute();
    const ofMember = { member_id: 'mem_1', created_at: 1 };
    await db
      .insertInto('account_member')
      .values({ account_id: 'acc_1', member_id: 'mem_1', role: 'owner', ...times })
      .execute();
    await db.insertInto('recovery_code').values({ hash: 'r', member_id: 'mem_1', used_at: null }).execute();
    await db
      .insertInto('member_identity')
      .values({ issuer: 'i', subject: 's', email: null, last_used_at: null, ...ofMember })
      .execute();
    const portal = { account_id: null, role: null, scopes: null, label: null, return_url: null };
    const seen = { last_seen_at: 1, ends_at: 2, confirmed_at: 1, ip: '::1', user_agent: '' };
    await db
      .insertInto('member_session')
      .values({ hash: 'h', id: 'ses_1', method: 'link', ...ofMember, ...portal, ...seen })
      .execute();
    await expect(
      db
        .insertInto('member')
        .values({ ...member, id: 'mem_2', ...more, ...times, removed_at: null })
        .execute(),
    ).rejects.toThrow(/unique/i);
    await db.deleteFrom('member').where('id', '=', 'mem_1').execute();
    for (const table of ['account_member', 'recovery_code', 'member_identity', 'member_session'] as const) {
      expect([table, await db.selectFrom(table).selectAll().execute()]).toEqual([table, []]);
    }
  });
});

describeOnDatabases('an opened database', (kind) => {
  let place: TestDatabase;
  let handle: DatabaseHandle;

  beforeEach(async () => {
    place = await migratedDatabase(kind);
    handle = await openDatabase(place.options);
  });
  afterEach(async () => {
    await handle.close();
    await place.drop();
  });

  it('keeps its data across a restart', async () => {
    await handle.db.insertInto('account').values(account('acc_1')).execute();
    await handle.close();
    handle = await openDatabase(place.options);
    expect(await handle.db.selectFrom('account').select('id').execute()).toEqual([{ id: 'acc_1' }]);
    expect(await answersNow(handle)).toBe(true);
  });

  it('migrates the months of counters to labels of their first day', async () => {
    // Recreates the tables of migration 0001, with rows as they were before migration 0002.
    await emptyUntil(handle, '0001_accounts_keys_counters_audit');
    await sql`insert into quota_counter values ('acc_1', '', ${Date.UTC(2026, 10, 1)}, 41, 7), ('acc_1', 'key_1', ${Date.UTC(2026, 9, 1)}, 5, 6)`.execute(
      handle.db,
    );
    await handle.close();
    handle = await openDatabase(place.options);
    expect(await handle.db.selectFrom('quota_counter').selectAll().orderBy('used').execute()).toEqual([
      {
        account_id: 'acc_1',
        api_key_id: 'key_1',
        period: 20_261_001,
        used: 5,
        day: 0,
        day_used: 0,
        observed_at: 0,
        observed_us: 0,
        set_at: 0,
        updated_at: 6,
      },
      {
        account_id: 'acc_1',
        api_key_id: '',
        period: 20_261_101,
        used: 41,
        day: 0,
        day_used: 0,
        observed_at: 0,
        observed_us: 0,
        set_at: 0,
        updated_at: 7,
      },
    ]);
  });

  it('adds normalized names to existing keys, without case and accents', async () => {
    await emptyUntil(handle, '0009_members');
    await sql`
      insert into account (id, name, plan, time_zone, billing_day, status, created_at, updated_at)
      values ('acc_1', 'A', 'starter', 'UTC', 1, 'active', 1, 1)
    `.execute(handle.db);
    const names = ['Booking Site', 'Reservación ÑU', '日本 Tours', "O'Neill %"];
    for (const [index, name] of names.entries()) {
      await sql`
        insert into api_key (id, account_id, name, scopes, environment, status, allowed_ips, hint, created_at, updated_at)
        values (${`key_${index}`}, 'acc_1', ${name}, '[]', 'live', 'active', '[]', 'h', 1, 1)
      `.execute(handle.db);
    }
    await handle.close();
    handle = await openDatabase(place.options);
    const rows = await handle.db.selectFrom('api_key').select(['search', 'version']).orderBy('id').execute();
    expect(rows.map(({ search }) => search)).toEqual(['booking site', 'reservacion nu', '日本 tours', "o'neill %"]);
    expect(rows.map(({ version }) => version)).toEqual([1, 1, 1, 1]);
  });

  it('adds normalized names to existing accounts, without case and accents', async () => {
    await emptyUntil(handle, '0014_webhooks');
    for (const [index, name] of ['Salzach RAFTING', 'Réservations du LAC'].entries()) {
      await sql`
        insert into account (id, name, plan, time_zone, billing_day, status, created_at, updated_at)
        values (${`acc_${index}`}, ${name}, 'starter', 'UTC', 1, 'active', 1, 1)
      `.execute(handle.db);
    }
    await handle.close();
    handle = await openDatabase(place.options);
    const rows = await handle.db.selectFrom('account').select('search').orderBy('id').execute();
    expect(rows.map(({ search }) => search)).toEqual(['salzach rafting', 'reservations du lac']);
  });

  it('keeps existing mails with their links, and accepts mails without a link', async () => {
    await emptyUntil(handle, '0015_account_search');
    await sql`
      insert into link (hash, id, kind, created_by, created_at, expires_at)
      values ('h', 'inv_1', 'invitation', 'operator', 1, 2)
    `.execute(handle.db);
    const mail = (id: string, link: string | null) => sql`
      insert into mail values (${id}, ${link}, 'Ana', 'ana@example.com', 'en', '{}', 'sent', 3, 4, 'EENVELOPE 550', 5, 6)
    `;
    await mail('eml_1', 'inv_1').execute(handle.db);
    await expect(mail('eml_2', null).execute(handle.db)).rejects.toThrow(/null/i);
    await handle.close();
    handle = await openDatabase(place.options);
    const all = handle.db.selectFrom('mail').selectAll().orderBy('id');
    const state = {
      to_name: 'Ana',
      to_address: 'ana@example.com',
      locale: 'en',
      content: '{}',
      state: 'sent',
      tries: 3,
    };
    const kept = { ...state, next_at: 4, error: 'EENVELOPE 550', created_at: 5, sent_at: 6 };
    expect(await all.execute()).toEqual([{ id: 'eml_1', link_id: 'inv_1', ...kept }]);
    await expect(mail('eml_3', 'inv_1').execute(handle.db)).rejects.toThrow(/unique/i);
    await mail('eml_2', null).execute(handle.db);
    await mail('eml_3', null).execute(handle.db);
    await handle.db.deleteFrom('link').execute();
    expect((await all.execute()).map(({ id }) => id)).toEqual(['eml_2', 'eml_3']);
  });

  it('keeps existing events for 90 days, with Trailgate as their source', async () => {
    await emptyUntil(handle, '0013_mail');
    await sql`insert into event values ('evt_1', 'acc_1', 'quota.threshold_reached', '{}', 'once', 1795000000123)`.execute(
      handle.db,
    );
    await handle.close();
    handle = await openDatabase(place.options);
    const times = { created_at: 1_795_000_000_123, occurred_at: 1_795_000_000_123 };
    const old = { id: 'evt_1', account_id: 'acc_1', type: 'quota.threshold_reached', data: '{}', dedupe_key: 'once' };
    const added = { source: 'trailgate', resource: null, fingerprint: null };
    expect(await handle.db.selectFrom('event').selectAll().execute()).toEqual([
      { ...old, ...added, ...times, keep_until: times.created_at + 90 * 86_400_000 },
    ]);
  });

  it('lets five processes migrate it at the same time', async () => {
    const fresh = await emptyDatabase(kind);
    const handles = await Promise.all(Array.from({ length: 5 }, () => openDatabase(fresh.options)));
    const migrations = await sql<{ n: number }>`select count(*) as n from kysely_migration`.execute(handles[0]!.db);
    expect(migrations.rows).toEqual([{ n: Object.keys(MIGRATIONS).length }]);
    await Promise.all(handles.map((each) => each.close()));
    await fresh.drop();
  });

  it('answers while it is open, and reports failure without throwing when closed', async () => {
    const other = await openDatabase(place.options);
    expect(await answersNow(other)).toBe(true);
    await other.close();
    expect(await answersNow(other)).toBe(false);
  });

  /** Adds a migration of a newer version. @param oldest Oldest version that works with it. Null stores none. */
  async function migrateFurther(oldest: string | null): Promise<void> {
    await sql`insert into kysely_migration (name, timestamp) values ('9999_future', '2030')`.execute(handle.db);
    await handle.db.deleteFrom('installation').where('name', '=', 'oldest_version').execute();
    if (oldest === null) return;
    await handle.db.insertInto('installation').values({ name: 'oldest_version', value: oldest }).execute();
  }

  it('opens after a migration by a newer version that supports this version', async () => {
    await migrateFurther(VERSION);
    const reopened = await openDatabase(place.options);
    expect([reopened.newer, reopened.migrated]).toEqual(['9999_future', undefined]);
    await reopened.close();
  });

  it.each(['99.0.0', null])(
    'fails to open after a newer migration with %s as the oldest supported version',
    async (oldest) => {
      await migrateFurther(oldest);
      await expect(openDatabase(place.options)).rejects.toThrow(
        `newer version of Trailgate: it has migration 9999_future, and Trailgate ${VERSION} knows migrations up to ${NEWEST}.`,
      );
    },
  );

  it('returns the migrations that it ran, and runs none when the hook before them fails', async () => {
    const fresh = await emptyDatabase(kind);
    const { migrated, close } = await openDatabase(fresh.options);
    expect(migrated).toEqual({ from: null, first: FIRST, to: NEWEST, count: Object.keys(MIGRATIONS).length });
    await close();
    await fresh.drop();
    await emptyUntil(handle, '0020_request_sources');
    await handle.close();
    const refused = openDatabase({
      ...place.options,
      beforeMigration: () => Promise.reject(new StartError('the port is taken')),
    });
    await expect(refused).rejects.toThrow('the port is taken');
    const count = Object.keys(MIGRATIONS).filter((name) => name > '0020_request_sources').length;
    handle = await openDatabase(place.options);
    const from = '0020_request_sources';
    expect(handle.migrated).toMatchObject({ from, first: '0021_open_deliveries', to: NEWEST, count });
    await handle.close();
    const refuse = () => Promise.reject(new Error('nothing is to do'));
    handle = await openDatabase({ ...place.options, beforeMigration: refuse });
    expect(handle.migrated).toBeUndefined();
  });
});
