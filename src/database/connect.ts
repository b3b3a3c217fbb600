/** Opens the database that the environment names: SQLite in the data folder, or PostgreSQL. Runs the migrations. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { Kysely, type Dialect } from 'kysely';
import { makeDataFolder } from './data-folder.js';
import { postgresOpenError, sqliteOpenError } from './open-errors.js';
import { migrate, ping } from './migrations.js';
import type { Tables } from './schema.js';
import { sqliteDialect } from './sqlite-dialect.js';

/** The one file of the embedded database, inside the data folder. */
export const SQLITE_FILE = 'trailgate.db';

/** Name of a row of `installation`. */
const WRITE_PROBE = 'write_probe';

/** The longest that a caller waits for a statement. */
const CALL_DEADLINE_MS = 2_000;
/** Shorter than the call's deadline, so that a lock held elsewhere is reported as what it is. */
const BUSY_TIMEOUT_MS = 1_500;
/** Migrations wait for another process that migrates, and may rewrite a table. */
const MIGRATION_DEADLINE_MS = 60_000;
const CONNECT_TIMEOUT_MS = 1_500;
const START_CONNECT_TIMEOUT_MS = 5_000;
const MAX_CONNECTIONS = 10;

export interface OpenDatabaseOptions {
  /** `postgres://…`; without it SQLite in the data folder. */
  readonly databaseUrl?: string;
  readonly dataDir: string;
  /** The longest that a caller waits for a statement; another one in tests that are not about it. */
  readonly callDeadlineMs?: number;
}

export interface DatabaseHandle {
  readonly db: Kysely<Tables>;
  readonly kind: 'sqlite' | 'postgres';
  /** Ends every connection; on SQLite the write-ahead log is folded into the file. */
  close(): Promise<void>;
  /** A round trip to the database, bounded by the call deadline. Rejects with why there is none. */
  ping(): Promise<void>;
  /** Writes a row, bounded likewise. Rejects with why that cannot be done. */
  takesWrites(): Promise<void>;
}

/** Connects, migrates, and hands out the pool. Rejects with `DatabaseOpenError`, whose one line says what to do. */
export async function openDatabase(options: OpenDatabaseOptions): Promise<DatabaseHandle> {
  const { databaseUrl, dataDir, callDeadlineMs = CALL_DEADLINE_MS } = options;
  return databaseUrl === undefined ? openSqlite(dataDir, callDeadlineMs) : openPostgres(databaseUrl, callDeadlineMs);
}

async function openSqlite(dataDir: string, callDeadlineMs: number): Promise<DatabaseHandle> {
  const file = join(dataDir, SQLITE_FILE);
  try {
    makeDataFolder(dataDir);
    await migrateOnce(
      sqliteDialect({ file, busyTimeoutMs: MIGRATION_DEADLINE_MS / 2, deadlineMs: MIGRATION_DEADLINE_MS }),
    );
  } catch (error) {
    throw sqliteOpenError(error, file);
  }
  return handle('sqlite', sqliteDialect({ file, busyTimeoutMs: BUSY_TIMEOUT_MS, deadlineMs: callDeadlineMs }));
}

async function openPostgres(databaseUrl: string, callDeadlineMs: number): Promise<DatabaseHandle> {
  // Only where it is needed: half a megabyte.
  const { postgresDialect } = await import('./postgres-dialect.js');
  try {
    new URL(databaseUrl);
    await migrateOnce(
      postgresDialect({
        databaseUrl,
        connectTimeoutMs: START_CONNECT_TIMEOUT_MS,
        statementTimeoutMs: MIGRATION_DEADLINE_MS,
        maxConnections: 1,
      }),
    );
  } catch (error) {
    throw postgresOpenError(error, databaseUrl);
  }
  return handle(
    'postgres',
    postgresDialect({
      databaseUrl,
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
      statementTimeoutMs: callDeadlineMs,
      maxConnections: MAX_CONNECTIONS,
    }),
  );
}

/** Migrations run on a connection of their own, with its own, longer, deadlines. */
async function migrateOnce(dialect: Dialect): Promise<void> {
  const db = new Kysely<Tables>({ dialect });
  try {
    await ping(db);
    await migrate(db);
  } finally {
    await db.destroy();
  }
}

/** One row that stays one row: what it says is never read. */
async function writeProbe(db: Kysely<Tables>): Promise<void> {
  const row = { name: WRITE_PROBE, value: randomUUID() };
  await db
    .insertInto('installation')
    .values(row)
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value: row.value }))
    .execute();
}

async function handle(kind: DatabaseHandle['kind'], dialect: Dialect): Promise<DatabaseHandle> {
  const db = new Kysely<Tables>({ dialect });
  // Kysely connects on first use, and a pool that was never used would not be closed either.
  await ping(db);
  return {
    db,
    kind,
    close: () => db.destroy(),
    ping: () => ping(db),
    takesWrites: () => writeProbe(db),
  };
}
