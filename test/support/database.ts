/** A new database of either kind for a test, opened and migrated as the program does it. */
import { mkdirSync } from 'node:fs';
import { copyFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  openDatabase,
  SQLITE_FILE,
  type DatabaseHandle,
  type OpenDatabaseOptions,
} from '../../src/database/connect.js';
import { Kysely, sql } from 'kysely';
import { Migrator } from 'kysely/migration';
import { MIGRATIONS } from '../../src/database/migrations.js';
import type { Tables } from '../../src/database/schema.js';
import { sqliteDialect } from '../../src/database/sqlite-dialect.js';
import { freshDatabase } from './postgres.js';
import { temporaryFolder } from './processes.js';

export interface TestDatabase {
  readonly options: OpenDatabaseOptions;
  /** Removes it. Close every handle first. */
  drop(): Promise<void>;
}

/** An empty place for a database: a temporary folder, or a new database of the shared PostgreSQL. */
export async function emptyDatabase(kind: DatabaseHandle['kind']): Promise<TestDatabase> {
  if (kind === 'sqlite') {
    const dataDir = temporaryFolder('sqlite');
    return { options: { dataDir }, drop: () => rm(dataDir, { recursive: true, force: true }) };
  }
  const { url, drop } = await freshDatabase();
  return { options: { databaseUrl: url, dataDir: '' }, drop };
}

/** What the databases of this worker's tests are copies of, by kind: migrations take several times as long as a copy. */
const templates = new Map<DatabaseHandle['kind'], Promise<TestDatabase>>();

async function makeTemplate(kind: DatabaseHandle['kind']): Promise<TestDatabase> {
  const template = await emptyDatabase(kind);
  await (await openDatabase(template.options)).close();
  return template;
}

/** A place where a database is that was migrated, and that nobody has opened since. */
async function migratedDatabase(kind: DatabaseHandle['kind']): Promise<TestDatabase> {
  const known = templates.get(kind) ?? makeTemplate(kind);
  templates.set(kind, known);
  const { options } = await known;
  if (options.databaseUrl !== undefined) {
    const { url, drop } = await freshDatabase(options.databaseUrl);
    return { options: { databaseUrl: url, dataDir: '' }, drop };
  }
  const empty = await emptyDatabase(kind);
  await copyFile(join(options.dataDir, SQLITE_FILE), join(empty.options.dataDir, SQLITE_FILE));
  return empty;
}

/** A busy disk is no database that is away. */
const PATIENT_MS = 60_000;

/** A migrated database, patient with a busy machine; `close` closes and removes it. */
export async function testDatabase(kind: DatabaseHandle['kind']): Promise<DatabaseHandle> {
  const { options, drop } = await migratedDatabase(kind);
  const handle = await openDatabase({ ...options, callDeadlineMs: PATIENT_MS });
  return {
    ...handle,
    close: async () => {
      await handle.close();
      await drop();
    },
  };
}

/** Empties a database, and makes the tables as they were after one of the migrations. */
export async function emptyUntil({ db, kind }: Pick<DatabaseHandle, 'db' | 'kind'>, last: string): Promise<void> {
  for (const { name } of await db.introspection.getTables({ withInternalKyselyTables: true })) {
    await sql`drop table ${sql.table(name)} ${sql.raw(kind === 'postgres' ? 'cascade' : '')}`.execute(db);
  }
  const until = Object.fromEntries(Object.entries(MIGRATIONS).filter(([name]) => name <= last));
  // The migrator of earlier versions.
  await new Migrator({ db, provider: { getMigrations: async () => until } }).migrateToLatest();
}

/** Makes an embedded database as an earlier version left it. @returns the path of its file. */
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

/** Whether it answers now. */
export function answersNow(database: DatabaseHandle): Promise<boolean> {
  return database.ping().then(
    () => true,
    () => false,
  );
}
