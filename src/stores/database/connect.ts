/** Opens the database that the environment names: SQLite in the data folder, or PostgreSQL. Runs the migrations. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { Kysely, sql, type Dialect } from 'kysely';
import type { DatabaseKind } from './database-kind.js';
import { makeDataFolder } from './data-folder.js';
import { postgresOpenError, sqliteOpenError } from './open-errors.js';
import { migrate, type Migrated } from './migrator.js';
import type { Tables } from './schema.js';
import { copyBeforeMigration } from './sqlite-copy.js';
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
const PING_PAUSE_MS = 100;
const MAX_CONNECTIONS = 10;

export interface OpenDatabaseOptions {
  /** `postgres://…`; without it SQLite in the data folder. */
  readonly databaseUrl?: string;
  readonly dataDir: string;
  /** The longest that a caller waits for a statement; another one in tests that are not about it. */
  readonly callDeadlineMs?: number;
  /** Called before anything is migrated, and only then; where it rejects, the database stays as it is. */
  readonly beforeMigration?: () => Promise<void>;
}

/** Describes what opening the database has migrated. */
export interface MigratedDatabase extends Migrated {
  /** Path of the copy that was made first; only SQLite, and not of a new database. */
  readonly copy?: string;
}

export interface DatabaseHandle {
  readonly db: Kysely<Tables>;
  readonly kind: DatabaseKind;
  /** Undefined where the tables were up to date. */
  readonly migrated: MigratedDatabase | undefined;
  /** Ends every connection; on SQLite the write-ahead log is folded into the file. */
  close(): Promise<void>;
  /** A round trip to the database, bounded by the call deadline. Rejects with why there is none. */
  ping(): Promise<void>;
  /** Writes a row, bounded likewise. Rejects with why that cannot be done. */
  takesWrites(): Promise<void>;
}

/**
 * Connects, migrates, and hands out the pool. Rejects with `DatabaseOpenError`, whose one line says what to do, or as
 * `beforeMigration` does.
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
    const migrated = await migrateOnce(
      sqliteDialect({ file, busyTimeoutMs: MIGRATION_DEADLINE_MS / 2, deadlineMs: MIGRATION_DEADLINE_MS }),
      prepare,
    );
    return await openHandle(
      'sqlite',
      sqliteDialect({ file, busyTimeoutMs: BUSY_TIMEOUT_MS, deadlineMs: callDeadlineMs }),
      migrated === undefined || copy === undefined ? migrated : { ...migrated, copy },
    );
  } catch (error) {
    throw sqliteOpenError(error, file);
  }
}

async function openPostgres(databaseUrl: string, options: OpenDatabaseOptions): Promise<DatabaseHandle> {
  const { callDeadlineMs = CALL_DEADLINE_MS, beforeMigration } = options;
  // Only where it is needed: half a megabyte.
  const { postgresDialect, takesTimeouts } = await import('./postgres-dialect.js');
  try {
    new URL(databaseUrl);
    const isPooled = !(await takesTimeouts(databaseUrl, START_CONNECT_TIMEOUT_MS));
    const migrated = await migrateOnce(
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
      migrated,
    );
  } catch (error) {
    throw postgresOpenError(error, databaseUrl);
  }
}

/** Migrations run on a connection of their own, with its own, longer, deadlines. */
async function migrateOnce(
  dialect: Dialect,
  prepare: (migrated: Migrated) => Promise<void>,
): Promise<Migrated | undefined> {
  const db = new Kysely<Tables>({ dialect });
  try {
    return await migrate(db, prepare);
  } finally {
    await db.destroy();
  }
}

/** A round trip that touches no table. */
async function ping(db: Kysely<Tables>): Promise<void> {
  await sql`select 1`.execute(db);
}

/** Pings until the start's patience ends: on a busy machine a first connection takes longer than a call may wait. */
async function pingPatiently(db: Kysely<Tables>): Promise<void> {
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

/** One row that stays one row: what it says is never read. */
async function writeProbe(db: Kysely<Tables>): Promise<void> {
  const row = { name: WRITE_PROBE, value: randomUUID() };
  await db
    .insertInto('installation')
    .values(row)
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value: row.value }))
    .execute();
}

/** Opens a handle on a dialect. Rejects with the error of the database once its deadline has passed. */
export async function openHandle(
  kind: DatabaseKind,
  dialect: Dialect,
  migrated: MigratedDatabase | undefined,
): Promise<DatabaseHandle> {
  const db = new Kysely<Tables>({ dialect });
  // Kysely connects on first use, and a pool that was never used would not be closed either.
  await pingPatiently(db);
  return {
    db,
    kind,
    migrated,
    close: () => db.destroy(),
    ping: () => ping(db),
    takesWrites: () => writeProbe(db),
  };
}
