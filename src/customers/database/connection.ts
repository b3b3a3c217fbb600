/** Opens the backend's own database: PostgreSQL where a URL is given, else a SQLite file inside the data folder. */
import { chmodSync, existsSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Kysely, PostgresDialect, SqliteDialect, sql } from 'kysely';
import pg from 'pg';
import type { CustomersConfig } from '../model/config.js';
import { StartError } from '../model/config.js';
import type { Tables } from './schema.js';

/** How long SQLite waits for another process's write. */
const BUSY_TIMEOUT_MS = 5_000;
/** Result code, without the extended part. */
const SQLITE_BUSY = 5;
const BUSY_PAUSE_MS = 10;
const CONNECT_TIMEOUT_MS = 3_000;
const QUERY_TIMEOUT_MS = 10_000;
const POOL_SIZE = 10;
const INT8_OID = 20;

/** What happened on a connection that no request was using. */
export type OnIdleError = (error: Error) => void;

export interface Database {
  readonly kind: 'sqlite' | 'postgres';
  readonly tables: Kysely<Tables>;
  /** Where it lives, for messages; never with a password. */
  readonly place: string;
}

/**
 * Opens the database and asks it one question, so that a wrong address shows at start.
 *
 * @throws StartError saying which setting to look at
 */
export async function openDatabase(
  config: Pick<CustomersConfig, 'databaseUrl' | 'dataDir'>,
  onIdleError: OnIdleError,
): Promise<Database> {
  return config.databaseUrl === undefined ? openSqlite(config.dataDir) : openPostgres(config.databaseUrl, onIdleError);
}

/**
 * Changing to the write-ahead log does not wait for other connections as statements do: of processes
 * that start at the same moment, all but one would see SQLITE_BUSY at once. So the wait is ours; nothing
 * else runs yet that it could hold up.
 */
function useWriteAheadLog(raw: DatabaseSync): void {
  const giveUpAtMs = performance.now() + BUSY_TIMEOUT_MS;
  for (;;) {
    try {
      raw.exec('pragma journal_mode = wal');
      return;
    } catch (error) {
      const isBusy = ((error as { errcode?: number }).errcode ?? 0) % 256 === SQLITE_BUSY;
      if (!isBusy || performance.now() > giveUpAtMs) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BUSY_PAUSE_MS);
    }
  }
}

function openSqlite(dataDir: string): Database {
  const place = join(resolve(dataDir), 'customers.db');
  try {
    // Personal data: for this user only, in a folder that may have been there before.
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    for (const file of [place, `${place}-wal`, `${place}-shm`]) if (existsSync(file)) chmodSync(file, 0o600);
    const raw = new DatabaseSync(place, { timeout: BUSY_TIMEOUT_MS });
    useWriteAheadLog(raw);
    raw.exec('pragma synchronous = full; pragma foreign_keys = on');
    return {
      kind: 'sqlite',
      tables: new Kysely({ dialect: new SqliteDialect({ database: asSqliteDatabase(raw) }) }),
      place,
    };
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new StartError(
      `cannot open the database file ${place} (${reason}). Make the folder writable, or set CUSTOMERS_DATA_DIR ` +
        'to one that is.',
      { cause },
    );
  }
}

/** The small part of better-sqlite3 that Kysely's dialect uses, on `node:sqlite`. */
function asSqliteDatabase(raw: DatabaseSync): ConstructorParameters<typeof SqliteDialect>[0]['database'] & object {
  return {
    prepare(query: string) {
      // Every transaction here writes; one that read first and then had to wait would fail at once instead of waiting.
      const statement = raw.prepare(query === 'begin' ? 'begin immediate' : query);
      return {
        reader: statement.columns().length > 0,
        all: (parameters: readonly unknown[]) => statement.all(...(parameters as string[])),
        run: (parameters: readonly unknown[]) => statement.run(...(parameters as string[])),
        iterate: (parameters: readonly unknown[]) => statement.iterate(...(parameters as string[])),
      };
    },
    close: () => raw.close(),
  };
}

async function openPostgres(url: string, onIdleError: OnIdleError): Promise<Database> {
  // Our bigints are times in milliseconds: safe as numbers.
  pg.types.setTypeParser(INT8_OID, Number);
  const pool = new pg.Pool({
    connectionString: url,
    max: POOL_SIZE,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: QUERY_TIMEOUT_MS,
    query_timeout: 2 * QUERY_TIMEOUT_MS,
    application_name: 'customers',
  });
  pool.on('error', onIdleError);
  // One in use has no listener of the pool's: without any its error would end the process. The next statement rejects.
  pool.on('connect', (client) => client.on('error', () => {}));
  const place = withoutPassword(url);
  const tables = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  try {
    await sql`select 1`.execute(tables);
    return { kind: 'postgres', tables, place };
  } catch (cause) {
    await tables.destroy().catch(() => undefined);
    const reason = reasonOf(cause);
    throw new StartError(
      `cannot reach the database ${place} (${reason}). Start PostgreSQL there, or correct ` +
        'CUSTOMERS_DATABASE_URL; unset it to use SQLite.',
      { cause },
    );
  }
}

function withoutPassword(url: string): string {
  if (!URL.canParse(url)) return 'at CUSTOMERS_DATABASE_URL';
  const { protocol, username, host, pathname } = new URL(url);
  return `${protocol}//${username === '' ? '' : `${username}@`}${host}${pathname}`;
}

/** `localhost` fails once per address family; the members of such an error say more than itself. */
function reasonOf(cause: unknown): string {
  if (cause instanceof AggregateError) return cause.errors.map(reasonOf).join(', ');
  return cause instanceof Error ? cause.message : String(cause);
}
