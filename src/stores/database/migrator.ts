/** Runs pending migrations in one transaction, one process at a time. */
import { sql, type Kysely, type Transaction } from 'kysely';
import { VERSION } from '../../platform/version.js';
import { kindOf } from './database-kind.js';
import { DatabaseOpenError } from './database-errors.js';
import { MIGRATIONS, OLDEST_VERSION } from './migrations.js';
import type { Tables } from './schema.js';

/** Table of executed migrations. Earlier versions used Kysely's migrator, which gave the table its name. */
const HISTORY = 'kysely_migration';

/** SQL expression for the current time of the database, in ISO 8601. */
const NOW = {
  sqlite: sql`strftime('%Y-%m-%dT%H:%M:%fZ', 'now')`,
  postgres: sql`to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
};

/** Name of the row of `installation` with the oldest version that works on this database. */
const OLDEST_VERSION_NAME = 'oldest_version';

/** ID of the advisory lock. Kysely's migrator uses the same ID, so that both migrators exclude each other. */
const LOCK_NUMBER = 3_853_314_791_062_309_107n;

/** Migrated describes the migrations that `migrate` has run or is about to run. */
export interface Migrated {
  /** Last migration that had run before. Null for a new database. */
  readonly from: string | null;
  readonly first: string;
  readonly to: string;
  readonly count: number;
}

/** MigrationResult is the result of `migrate`. */
export interface MigrationResult {
  /** Undefined if the tables were up to date. */
  readonly migrated?: Migrated;
  /**
   * Last migration of a newer version. Set only if that version has migrated the database and allows this version to
   * use it.
   */
  readonly newer?: string;
}

/**
 * Brings the tables up to date. Takes no lock if no migration is pending. The lock ends with the transaction, so it
 * cannot remain on a connection of a pooler.
 * @param prepare called under the lock before the first migration. If the function rejects, nothing is migrated.
 * @returns which migrations have run. Rejects with the database's error. Rejects with `DatabaseOpenError` if a
 * migration before the last executed migration is missing. Rejects likewise if a newer version has migrated the
 * database and this version does not work on it (decision 0048).
 */
export async function migrate(
  db: Kysely<Tables>,
  prepare: (migrated: Migrated) => Promise<void> = async () => {},
): Promise<MigrationResult> {
  const { pending: pendingBefore, newer } = await readState(db);
  if (pendingBefore.length === 0) return newer === undefined ? {} : { newer };
  return db.transaction().execute(async (trx): Promise<MigrationResult> => {
    await lock(trx);
    const { last, pending } = await readState(trx);
    if (pending.length === 0) return {};
    const [first = ''] = pending;
    const migrated = { from: last ?? null, first, to: pending.at(-1) ?? first, count: pending.length };
    await prepare(migrated);
    await trx.schema
      .createTable(HISTORY)
      .ifNotExists()
      .addColumn('name', 'varchar(255)', (column) => column.primaryKey().notNull())
      .addColumn('timestamp', 'varchar(255)', (column) => column.notNull())
      .execute();
    for (const name of pending) {
      await MIGRATIONS[name]?.up(trx);
      await sql`insert into ${sql.table(HISTORY)} (name, timestamp) values (${name}, ${NOW[kindOf(trx)]})`.execute(trx);
    }
    await trx
      .insertInto('installation')
      .values({ name: OLDEST_VERSION_NAME, value: OLDEST_VERSION })
      .onConflict((conflict) => conflict.column('name').doUpdateSet({ value: OLDEST_VERSION }))
      .execute();
    return { migrated };
  });
}

/** Blocks other migrating processes until the transaction ends. On SQLite, `begin immediate` already blocks them. */
async function lock(trx: Transaction<Tables>): Promise<void> {
  if (kindOf(trx) === 'postgres') await sql`select pg_advisory_xact_lock(${sql.lit(LOCK_NUMBER)})`.execute(trx);
}

interface State {
  readonly last?: string;
  readonly pending: readonly string[];
  readonly newer?: string;
}

async function readState(db: Kysely<Tables>): Promise<State> {
  const executed = (await readHistory(db)).toSorted();
  const known = Object.keys(MIGRATIONS);
  const last = executed.at(-1);
  const newest = known.at(-1) ?? '';
  const unknown = executed.findLast((name) => !known.includes(name));
  if (unknown !== undefined && !(await worksOnDatabase(db))) throw newerDatabase(unknown, newest);
  const pending = known.filter((name) => !executed.includes(name));
  // A migration before the last executed migration would run on tables that it does not expect.
  if (last !== undefined && pending.some((name) => name < last)) {
    throw new DatabaseOpenError(`The database has ${last} and lacks ${pending.join(', ')}: restore a backup.`);
  }
  return {
    pending,
    ...(last === undefined ? {} : { last }),
    ...(unknown === undefined ? {} : { newer: unknown }),
  };
}

/** Reports whether this version works on a database that a newer version has migrated. */
async function worksOnDatabase(db: Kysely<Tables>): Promise<boolean> {
  const row = await db
    .selectFrom('installation')
    .select('value')
    .where('name', '=', OLDEST_VERSION_NAME)
    .executeTakeFirst();
  return row !== undefined && !isOlder(VERSION, row.value);
}

/** Reports whether the first version is older, such as in `isOlder('0.9.0', '0.10.0')`. */
export function isOlder(version: string, other: string): boolean {
  const [numbers, others] = [version, other].map((text) => text.split('.').map(Number));
  const at = others!.findIndex((number, index) => number !== numbers![index]);
  return at !== -1 && numbers![at]! < others![at]!;
}

function newerDatabase(unknown: string, newest: string): DatabaseOpenError {
  return new DatabaseOpenError(
    `The database was written by a newer version of Trailgate: it has migration ${unknown}, and Trailgate ${VERSION} ` +
      `knows migrations up to ${newest}. Start the newer version, or restore a backup.`,
  );
}

/** Returns the names of the executed migrations, unordered. Empty for a new database. */
async function readHistory(db: Kysely<Tables>): Promise<string[]> {
  const found =
    kindOf(db) === 'postgres'
      ? sql<{ name: string | null }>`select to_regclass(${HISTORY})::text as name`
      : sql<{ name: string | null }>`select name from sqlite_master where type = 'table' and name = ${HISTORY}`;
  const { rows: tables } = await found.execute(db);
  if ((tables[0]?.name ?? null) === null) return [];
  const { rows } = await sql<{ name: string }>`select name from ${sql.table(HISTORY)}`.execute(db);
  return rows.map(({ name }) => name);
}
