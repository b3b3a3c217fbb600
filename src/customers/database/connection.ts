/** Opens the database of the backend, which is a SQLite file in the data folder. */
import { chmodSync, existsSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Kysely, SqliteDialect } from 'kysely';
import { StartError } from '../model/config.js';
import type { Tables } from './schema.js';

/** Maximum wait for locks of other processes, in ms. */
const BUSY_TIMEOUT_MS = 5_000;
/** Primary result code of SQLite for a locked database. */
const SQLITE_BUSY = 5;
const BUSY_PAUSE_MS = 10;

export interface Database {
  readonly tables: Kysely<Tables>;
  /** Absolute path of the database file, for messages. */
  readonly place: string;
}

/**
 * Enables the write-ahead log. Unlike other statements, this pragma does not wait for locks, so processes that start
 * together would get SQLITE_BUSY. Retries for at most `BUSY_TIMEOUT_MS`, and blocks the process, which does nothing
 * else yet.
 */
function useWriteAheadLog(raw: DatabaseSync): void {
  const deadlineMs = performance.now() + BUSY_TIMEOUT_MS;
  for (;;) {
    try {
      raw.exec('pragma journal_mode = wal');
      return;
    } catch (error) {
      const isBusy = ((error as { errcode?: number }).errcode ?? 0) % 256 === SQLITE_BUSY;
      if (!isBusy || performance.now() > deadlineMs) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BUSY_PAUSE_MS);
    }
  }
}

/**
 * Opens the database. Creates the folder and the file if they do not exist.
 * @throws StartError that names the setting to check
 */
export function openDatabase(dataDir: string): Database {
  const path = join(resolve(dataDir), 'customers.db');
  try {
    // The database contains personal data. Allow access only to this user, even if the folder already exists.
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    for (const file of [path, `${path}-wal`, `${path}-shm`]) if (existsSync(file)) chmodSync(file, 0o600);
    const raw = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
    useWriteAheadLog(raw);
    raw.exec('pragma synchronous = full; pragma foreign_keys = on');
    return {
      tables: new Kysely({ dialect: new SqliteDialect({ database: asSqliteDatabase(raw) }) }),
      place: path,
    };
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new StartError(
      `cannot open the database file ${path} (${reason}). Make the folder writable, or set CUSTOMERS_DATA_DIR ` +
        'to one that is.',
      { cause },
    );
  }
}

/** Adapts `node:sqlite` to the part of the better-sqlite3 interface that Kysely uses. */
function asSqliteDatabase(raw: DatabaseSync): ConstructorParameters<typeof SqliteDialect>[0]['database'] & object {
  return {
    prepare(query: string) {
      // Every transaction writes. A deferred transaction would fail at its first write instead of waiting for the lock.
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
