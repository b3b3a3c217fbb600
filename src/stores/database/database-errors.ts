/**
 * What a database can refuse with, the same words for SQLite and PostgreSQL. A rejected statement keeps the driver's
 * own error; a database that cannot be asked is always a `DatabaseUnavailable`.
 */

/**
 * The database could not be asked or did not answer in time. Whether a write that
 * it interrupted took effect is unknown.
 */
export class DatabaseUnavailable extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause });
    this.name = 'DatabaseUnavailable';
  }
}

/**
 * The database could not be opened at start. The message is one line for the person who starts
 * the program: what is wrong, what to do.
 */
export class DatabaseOpenError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause });
    this.name = 'DatabaseOpenError';
  }
}

/** An error of SQLite as it came from the worker thread; `errcode` is SQLite's extended result code. */
export class SqliteError extends Error {
  constructor(
    message: string,
    readonly code: string | undefined,
    readonly errcode: number | undefined,
  ) {
    super(message);
    this.name = 'SqliteError';
  }
}

const SQLITE_UNIQUE_CODES: ReadonlySet<number> = new Set([2067, 1555]);

/**
 * Primary result codes of SQLite that say nothing about the statement: busy, locked, read-only, I/O error, corrupt,
 * full, cannot open, not a database.
 */
const SQLITE_UNAVAILABLE_CODES: ReadonlySet<number> = new Set([5, 6, 8, 10, 11, 13, 14, 26]);

/**
 * SQLSTATE classes: connection exception, insufficient resources, operator intervention (also
 * a cancelled statement), system error.
 */
const POSTGRES_UNAVAILABLE_CLASSES: ReadonlySet<string> = new Set(['08', '53', '57', '58']);

/** A standby that was promoted or demoted, a lock that did not come in time, a login that is refused since start. */
const POSTGRES_UNAVAILABLE_STATES: ReadonlySet<string> = new Set(['25006', '55P03', '28P01', '28000', '3D000']);

/** What `pg` says without an error code when the connection is the problem. */
const POSTGRES_UNAVAILABLE_MESSAGE =
  /timeout|Connection terminated|connection is closed|not queryable|Connection ended|Client was closed/i;

function property(error: unknown, name: string): unknown {
  return typeof error === 'object' && error !== null ? (error as Record<string, unknown>)[name] : undefined;
}

/** True where a row with the same unique value exists already, on either database. */
export function isUniqueViolation(error: unknown): boolean {
  const errcode = property(error, 'errcode');
  if (typeof errcode === 'number') return SQLITE_UNIQUE_CODES.has(errcode);
  return property(error, 'code') === '23505';
}

/** Reports whether a code is an SQLSTATE, which only a server gives. Node's codes have no digit (`EPIPE`). */
export function isSqlState(code: unknown): code is string {
  return typeof code === 'string' && /^(?=.*\d)[0-9A-Z]{5}$/.test(code);
}

/** Turns an error of SQLite into `DatabaseUnavailable` where the statement is not to blame. */
export function translateSqliteError(error: SqliteError): Error {
  if (error.errcode === undefined || !SQLITE_UNAVAILABLE_CODES.has(error.errcode & 0xff)) return error;
  return new DatabaseUnavailable(`SQLite: ${error.message}`, error);
}

/** Turns an error of `pg` into `DatabaseUnavailable` where the statement is not to blame. */
export function translatePostgresError(error: unknown): unknown {
  if (error instanceof DatabaseUnavailable) return error;
  const code = property(error, 'code');
  const message = String(property(error, 'message') ?? error);
  const unavailable = isSqlState(code)
    ? POSTGRES_UNAVAILABLE_CLASSES.has(code.slice(0, 2)) || POSTGRES_UNAVAILABLE_STATES.has(code)
    : property(error, 'syscall') !== undefined || code === 'ECONNREFUSED' || POSTGRES_UNAVAILABLE_MESSAGE.test(message);
  return unavailable ? new DatabaseUnavailable(`PostgreSQL: ${message}`, error) : error;
}
