/** Opens and migrates the database, which is SQLite in the data folder or PostgreSQL. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { Kysely, sql, type Dialect } from 'kysely';
import type { DatabaseKind } from './database-kind.js';
import { makeDataFolder } from './data-folder.js';
import { postgresOpenError, sqliteOpenError } from './open-errors.js';
import { migrate, type Migrated, type MigrationResult } from './migrator.js';
import type { Tables } from './schema.js';
import { copyBeforeMigration } from './sqlite-copy.js';
import { sqliteDialect } from './sqlite-dialect.js';

export const SQLITE_FILE = 'trailgate.db';

/** Name of the row of `installation` that `checkWrites` overwrites. */
const WRITE_PROBE = 'write_probe';

/** Maximum time for a statement that is not part of a migration. */
const CALL_DEADLINE_MS = 2_000;
/**
 * Maximum wait for a lock of another process. It is shorter than the statement deadline, so that the error reports the
 * lock instead of a timeout.
 */
const BUSY_TIMEOUT_MS = 1_500;
/**
 * Maximum time for a statement of a migration. A migration waits for another migrating process, and may rewrite a
 * table.
 */
const MIGRATION_DEADLINE_MS = 60_000;
const CONNECT_TIMEOUT_MS = 1_500;
const START_CONNECT_TIMEOUT_MS = 5_000;
const PING_PAUSE_MS = 100;
const MAX_CONNECTIONS = 10;

export interface OpenDatabaseOptions {
  /** `postgres://…`. Undefined for SQLite in the data folder. */
  readonly databaseUrl?: string;
  readonly dataDir: string;
  /** Maximum time for a statement, in milliseconds. Only tests change the default. */
  readonly callDeadlineMs?: number;
  /**
   * Called before the first pending migration, if there is one. If the function rejects, the database stays unchanged.
   */
  readonly beforeMigration?: () => Promise<void>;
}

export interface MigratedDatabase extends Migrated {
  /** Path of the copy that was written before the migrations. Set only for SQLite, and not for a new database. */
  readonly copy?: string;
}

export interface DatabaseHandle {
  readonly db: Kysely<Tables>;
  readonly kind: DatabaseKind;
  /** The migrations that this start has run. Undefined if the tables were up to date. */
  readonly migrated: MigratedDatabase | undefined;
  /** Last migration of the newer version that has migrated the database. Undefined if no newer version has. */
  readonly newer: string | undefined;
  /** Closes all connections. On SQLite, this also writes the write-ahead log into the database file. */
  close(): Promise<void>;
  /**
   * Sends a query that reads no table, to check that the database responds. Rejects after the statement deadline, or
   * with the error of the database.
   */
  ping(): Promise<void>;
  /** Writes a row to check that the database accepts writes. Rejects with the database's error if it does not. */
  checkWrites(): Promise<void>;
}

/**
 * Connects, runs pending migrations, and opens the connection pool. Rejects with `DatabaseOpenError`, whose message
 * tells the operator what to do, or with the error of `beforeMigration`.
 */
export async function openDatabase(options: OpenDatabaseOptions): Promise<DatabaseHandle> {
  const { databaseUrl } = options;
  return databaseUrl === undefined ? openSqlite(options) : openPostgres(databaseUrl, options);
}

async function openSqlite(options: OpenDatabaseOptions): Promise<DatabaseHandle> {
  const { dataDir, callDeadlineMs = CALL_DEADLINE_MS, beforeMigration } = options;
  const file = join(dataDir, SQLITE_FILE);
  let copy: string | undefined;
  const prepare = async ({ from, first }: Migrated): Promise<void> => {
    await beforeMigration?.();
    if (from !== null) copy = await copyBeforeMigration(file, first);
  };
  try {
    makeDataFolder(dataDir);
    const result = await migrateOnce(
      sqliteDialect({ file, busyTimeoutMs: MIGRATION_DEADLINE_MS / 2, deadlineMs: MIGRATION_DEADLINE_MS }),
      prepare,
    );
    return await openHandle(
      'sqlite',
      sqliteDialect({ file, busyTimeoutMs: BUSY_TIMEOUT_MS, deadlineMs: callDeadlineMs }),
      result.migrated === undefined || copy === undefined ? result : { migrated: { ...result.migrated, copy } },
    );
  } catch (error) {
    throw sqliteOpenError(error, file);
  }
}

async function openPostgres(databaseUrl: string, options: OpenDatabaseOptions): Promise<DatabaseHandle> {
  const { callDeadlineMs = CALL_DEADLINE_MS, beforeMigration } = options;
  // The PostgreSQL driver is loaded only if needed, because it takes half a megabyte of memory.
  const { postgresDialect, supportsTimeouts } = await import('./postgres-dialect.js');
  try {
    new URL(databaseUrl);
    const isPooled = !(await supportsTimeouts(databaseUrl, START_CONNECT_TIMEOUT_MS));
    const result = await migrateOnce(
      postgresDialect({
        databaseUrl,
        connectTimeoutMs: START_CONNECT_TIMEOUT_MS,
        statementTimeoutMs: MIGRATION_DEADLINE_MS,
        maxConnections: 1,
        isPooled,
      }),
      async () => beforeMigration?.(),
    );
    return await openHandle(
      'postgres',
      postgresDialect({
        databaseUrl,
        connectTimeoutMs: CONNECT_TIMEOUT_MS,
        statementTimeoutMs: callDeadlineMs,
        maxConnections: MAX_CONNECTIONS,
        isPooled,
      }),
      result,
    );
  } catch (error) {
    throw postgresOpenError(error, databaseUrl);
  }
}

/** Migrates on a separate connection with longer deadlines. */
async function migrateOnce(dialect: Dialect, prepare: (migrated: Migrated) => Promise<void>): Promise<MigrationResult> {
  const db = new Kysely<Tables>({ dialect });
  try {
    return await migrate(db, prepare);
  } finally {
    await db.destroy();
  }
}

async function ping(db: Kysely<Tables>): Promise<void> {
  await sql`select 1`.execute(db);
}

/**
 * Pings until the database responds. Rejects with the last error after the start timeout. On a busy machine, the first
 * connection can take longer than the statement deadline.
 */
async function pingUntilReady(db: Kysely<Tables>): Promise<void> {
  const giveUpMs = performance.now() + START_CONNECT_TIMEOUT_MS;
  for (;;) {
    try {
      return await ping(db);
    } catch (error) {
      if (performance.now() > giveUpMs) throw error;
      await new Promise((resolve) => setTimeout(resolve, PING_PAUSE_MS));
    }
  }
}

/** Overwrites one row of `installation`, whose value is never read. */
async function writeProbe(db: Kysely<Tables>): Promise<void> {
  const row = { name: WRITE_PROBE, value: randomUUID() };
  await db
    .insertInto('installation')
    .values(row)
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value: row.value }))
    .execute();
}

/**
 * Opens a connection pool with a dialect. Rejects with the database's error if the database does not respond within the
 * start timeout.
 */
export async function openHandle(
  kind: DatabaseKind,
  dialect: Dialect,
  { migrated, newer }: { readonly migrated?: MigratedDatabase; readonly newer?: string } = {},
): Promise<DatabaseHandle> {
  const db = new Kysely<Tables>({ dialect });
  // Kysely connects on first use, and does not close a pool that was never used.
  await pingUntilReady(db);
  return {
    db,
    kind,
    migrated,
    newer,
    close: () => db.destroy(),
    ping: () => ping(db),
    checkWrites: () => writeProbe(db),
  };
}
