/** Provides migrated SQLite and PostgreSQL databases for tests, opened as the program opens them. */
import { mkdirSync } from 'node:fs';
import { copyFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Kysely, sql, type DatabaseConnection, type Dialect, type Driver, type TransactionSettings } from 'kysely';
import { Migrator } from 'kysely/migration';
import {
  openDatabase,
  openHandle,
  SQLITE_FILE,
  type DatabaseHandle,
  type OpenDatabaseOptions,
} from '../../src/stores/database/connect.js';
import { MIGRATIONS } from '../../src/stores/database/migrations.js';
import { postgresDialect } from '../../src/stores/database/postgres-dialect.js';
import type { Tables } from '../../src/stores/database/schema.js';
import { sqliteDialect } from '../../src/stores/database/sqlite-dialect.js';
import { executeBatchInTransaction } from '../../src/stores/database/statement-batch.js';
import { atEndOfFile } from './jest/current.mjs';
import { emptyTables, freshDatabase, newDatabase } from './postgres.js';
import { eventually, temporaryFolder } from './processes.js';

export interface TestDatabase {
  readonly options: OpenDatabaseOptions;
  /** Deletes the database. Close all connections first. */
  drop(): Promise<void>;
}

/**
 * Creates an empty database without tables: a temporary folder for SQLite, or a new database in the shared PostgreSQL.
 */
export async function emptyDatabase(kind: DatabaseHandle['kind']): Promise<TestDatabase> {
  if (kind === 'sqlite') {
    const dataDir = temporaryFolder('sqlite');
    return { options: { dataDir }, drop: () => rm(dataDir, { recursive: true, force: true }) };
  }
  const { url, drop } = await newDatabase();
  return { options: { databaseUrl: url, dataDir: '' }, drop };
}

/** Path of the SQLite file that new databases are copied from. A copy is several times faster than the migrations. */
let template: Promise<string> | undefined;

async function makeTemplate(): Promise<string> {
  const { options } = await emptyDatabase('sqlite');
  await (await openDatabase(options)).close();
  return join(options.dataDir, SQLITE_FILE);
}

/**
 * Creates a migrated database without rows, and leaves it closed. For a program, or for a test that opens it itself.
 */
export async function migratedDatabase(kind: DatabaseHandle['kind']): Promise<TestDatabase> {
  if (kind === 'postgres') {
    const { url, drop } = await freshDatabase();
    return { options: { databaseUrl: url, dataDir: '' }, drop };
  }
  template ??= makeTemplate();
  const empty = await emptyDatabase(kind);
  await copyFile(await template, join(empty.options.dataDir, SQLITE_FILE));
  return empty;
}

/** Connection and statement timeout. It is long, so that a busy disk does not look like an unavailable database. */
const PATIENT_MS = 60_000;
const BUSY_TIMEOUT_MS = 1_500;
const MAX_CONNECTIONS = 10;
/** Maximum wait for statements that a test left running. */
const UNDER_WAY_MS = 10_000;

/** An open database that the tests of a file use in turn. */
interface OpenPlace {
  readonly kind: DatabaseHandle['kind'];
  readonly dialect: Dialect;
  readonly driver: Driver;
  readonly db: Kysely<Tables>;
  readonly shape: string;
  readonly place: TestDatabase;
}

const open = new Set<OpenPlace>();
const unused = new Set<OpenPlace>();

async function openPlace(kind: DatabaseHandle['kind']): Promise<OpenPlace> {
  const place = await migratedDatabase(kind);
  const dialect = await dialectOf(place);
  const driver = dialect.createDriver();
  await driver.init();
  const db = new Kysely<Tables>({ dialect: onDriver(dialect, driver) });
  if (open.size === 0) atEndOfFile(() => Promise.all([...open].map(endPlace)));
  const opened = { kind, dialect, driver, db, place, shape: kind === 'sqlite' ? (await sqliteShape(db)).shape : '' };
  open.add(opened);
  return opened;
}

async function dialectOf({ options: { databaseUrl, dataDir } }: TestDatabase): Promise<Dialect> {
  if (databaseUrl === undefined)
    return sqliteDialect({
      file: join(dataDir, SQLITE_FILE),
      busyTimeoutMs: BUSY_TIMEOUT_MS,
      deadlineMs: PATIENT_MS,
    });
  return postgresDialect({
    databaseUrl,
    connectTimeoutMs: PATIENT_MS,
    statementTimeoutMs: PATIENT_MS,
    maxConnections: MAX_CONNECTIONS,
    isPooled: false,
  });
}

async function endPlace(opened: OpenPlace): Promise<void> {
  open.delete(opened);
  unused.delete(opened);
  // Limit the wait, because a failed test may never release its connection.
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, UNDER_WAY_MS);
  await Promise.race([opened.db.destroy(), late.promise]).finally(() => clearTimeout(timer));
  await opened.place.drop();
}

/** Returns a dialect that uses an existing driver. */
function onDriver(dialect: Dialect, driver: Driver): Dialect {
  return {
    createDriver: () => driver,
    createQueryCompiler: () => dialect.createQueryCompiler(),
    createAdapter: () => dialect.createAdapter(),
    createIntrospector: (db) => dialect.createIntrospector(db),
  };
}

/**
 * LentDriver gives one test access to a shared driver. It counts the connections in use, and does not close the driver.
 */
class LentDriver implements Driver {
  underWay = 0;

  constructor(private readonly driver: Driver) {}

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    this.underWay += 1;
    try {
      return await this.driver.acquireConnection();
    } catch (error) {
      this.underWay -= 1;
      throw error;
    }
  }

  async releaseConnection(connection: DatabaseConnection): Promise<void> {
    await this.driver.releaseConnection(connection).finally(() => (this.underWay -= 1));
  }

  beginTransaction(connection: DatabaseConnection, settings: TransactionSettings): Promise<void> {
    return this.driver.beginTransaction(connection, settings);
  }

  commitTransaction(connection: DatabaseConnection): Promise<void> {
    return this.driver.commitTransaction(connection);
  }

  rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    return this.driver.rollbackTransaction(connection);
  }

  async destroy(): Promise<void> {}
}

/**
 * Provides a migrated database without rows, with long timeouts. `close` closes the handle, empties the database and
 * keeps it for the next test of the file. The database is deleted at the end of the test file at the latest.
 */
export async function testDatabase(kind: DatabaseHandle['kind']): Promise<DatabaseHandle> {
  const place = [...unused].find((each) => each.kind === kind) ?? (await openPlace(kind));
  unused.delete(place);
  const driver = new LentDriver(place.driver);
  const handle = await openHandle(kind, onDriver(place.dialect, driver));
  let closing: Promise<void> | undefined;
  const giveBack = async (): Promise<void> => {
    await handle.close();
    const isFree = () => driver.underWay === 0;
    const isUsable = await eventually('all connections are released', isFree, UNDER_WAY_MS)
      .then(() => empty(place))
      .catch(() => false);
    if (!isUsable) await endPlace(place);
    else if (open.has(place)) unused.add(place);
  };
  return { ...handle, close: () => (closing ??= giveBack()) };
}

/**
 * Deletes all rows.
 * @returns false if the tables no longer match the migrations, so that the database cannot be used again
 */
async function empty({ kind, db, shape }: OpenPlace): Promise<boolean> {
  if (kind === 'postgres') return emptyTables(async (text) => (await sql.raw<object>(text).execute(db)).rows);
  const now = await sqliteShape(db);
  if (now.shape !== shape) return false;
  const statements = ['pragma defer_foreign_keys = on', ...now.tables.map((name) => `delete from "${name}"`)];
  await executeBatchInTransaction(
    db,
    statements.map((text) => sql.raw(text).compile(db)),
  );
  return true;
}

async function sqliteShape(db: Kysely<Tables>): Promise<{ shape: string; tables: string[] }> {
  const what = sql<{
    name: string;
    type: string;
    sql: string;
  }>`select name, type, sql from sqlite_master
    union all select name, 'migration', '' from kysely_migration order by name`;
  const { rows } = await what.execute(db);
  const tables = rows.filter(({ name, type }) => type === 'table' && name !== 'kysely_migration');
  return { shape: JSON.stringify(rows), tables: tables.map(({ name }) => name) };
}

/** Drops all tables, then runs the migrations up to and including `last`. */
export async function emptyUntil({ db, kind }: Pick<DatabaseHandle, 'db' | 'kind'>, last: string): Promise<void> {
  for (const { name } of await db.introspection.getTables({ withInternalKyselyTables: true })) {
    await sql`drop table ${sql.table(name)} ${sql.raw(kind === 'postgres' ? 'cascade' : '')}`.execute(db);
  }
  const until = Object.fromEntries(Object.entries(MIGRATIONS).filter(([name]) => name <= last));
  // Earlier versions used Kysely's migrator.
  await new Migrator({ db, provider: { getMigrations: async () => until } }).migrateToLatest();
}

/**
 * Creates a SQLite database as an earlier version left it.
 * @returns the path of the file
 */
export async function olderSqlite(dataDir: string, last: string): Promise<string> {
  mkdirSync(dataDir, { recursive: true });
  const file = join(dataDir, SQLITE_FILE);
  const db = new Kysely<Tables>({
    dialect: sqliteDialect({ file, busyTimeoutMs: PATIENT_MS, deadlineMs: PATIENT_MS }),
  });
  await emptyUntil({ db, kind: 'sqlite' }, last);
  await db.destroy();
  return file;
}

/** Reports whether the database responds now. */
export function answersNow(database: DatabaseHandle): Promise<boolean> {
  return database.ping().then(
    () => true,
    () => false,
  );
}
