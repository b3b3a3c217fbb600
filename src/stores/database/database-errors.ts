/**
 * Gives errors of SQLite and PostgreSQL a common form. If the database itself is unavailable, the error becomes a
 * `DatabaseUnavailable`. Otherwise callers get the driver's error.
 */

/**
 * DatabaseUnavailable says that the database could not be reached, or did not respond in time. An interrupted write may
 * or may not have taken effect.
 */
export class DatabaseUnavailable extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause });
    this.name = 'DatabaseUnavailable';
  }
}

/**
 * DatabaseOpenError says that the database could not be opened at the start. The message tells the operator in one line
 * what is wrong and what to do.
 */
export class DatabaseOpenError extends Error {
  /** @param isTransient whether waiting can help, because the server is unavailable, starting, or out of resources */
  constructor(
    message: string,
    cause?: unknown,
    readonly isTransient = false,
  ) {
    super(message, cause === undefined ? {} : { cause });
    this.name = 'DatabaseOpenError';
  }
}

/** SqliteError is an SQLite error from the worker thread. `errcode` is SQLite's extended result code. */
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
 * Primary result codes of SQLite that are not caused by the statement: busy, locked, read-only, I/O error, corrupt,
 * full, cannot open, not a database.
 */
const SQLITE_UNAVAILABLE_CODES: ReadonlySet<number> = new Set([5, 6, 8, 10, 11, 13, 14, 26]);

/**
 * SQLSTATE classes of errors that the statement did not cause: connection exception, insufficient resources, operator
 * intervention (including canceled statements), system error.
 */
const POSTGRES_UNAVAILABLE_CLASSES: ReadonlySet<string> = new Set(['08', '53', '57', '58']);

/** Reports whether waiting can fix an error of `pg` at the start. */
export function isTransientPostgresError(code: string | undefined, message: string): boolean {
  // PgBouncer reports mistakes in its configuration as a protocol violation.
  if (code === '08P01') return false;
  if (isSqlState(code)) return POSTGRES_UNAVAILABLE_CLASSES.has(code.slice(0, 2));
  return (
    /^(?:ECONN|EHOST|ENET|ETIMEDOUT|EPIPE|ENOTFOUND|EAI_AGAIN)/.test(code ?? '') || TRANSIENT_MESSAGE.test(message)
  );
}

/** Matches messages of `pg` that have no error code, for errors that waiting can fix. */
const TRANSIENT_MESSAGE = /timeout|Connection terminated|Connection ended/i;

/**
 * Further SQLSTATEs of an unavailable database. They are a read-only server after a failover, a lock timeout, a refused
 * login and a missing database. The last two count because the login and the database worked at the start.
 */
const POSTGRES_UNAVAILABLE_STATES: ReadonlySet<string> = new Set(['25006', '55P03', '28P01', '28000', '3D000']);

/** Matches messages of `pg` about connections that have no error code. */
const POSTGRES_UNAVAILABLE_MESSAGE =
  /timeout|Connection terminated|connection is closed|not queryable|Connection ended|Client was closed/i;

function property(error: unknown, name: string): unknown {
  return typeof error === 'object' && error !== null ? (error as Record<string, unknown>)[name] : undefined;
}

/** Reports whether an error of either database is the violation of a unique constraint. */
export function isUniqueViolation(error: unknown): boolean {
  const errcode = property(error, 'errcode');
  if (typeof errcode === 'number') return SQLITE_UNIQUE_CODES.has(errcode);
  return property(error, 'code') === '23505';
}

/** Reports whether a code is an SQLSTATE, which only a server returns. Node's codes, such as `EPIPE`, have no digit. */
export function isSqlState(code: unknown): code is string {
  return typeof code === 'string' && /^(?=.*\d)[0-9A-Z]{5}$/.test(code);
}

/** Converts an SQLite error into `DatabaseUnavailable`, unless the statement caused the error. */
export function translateSqliteError(error: SqliteError): Error {
  if (error.errcode === undefined || !SQLITE_UNAVAILABLE_CODES.has(error.errcode & 0xff)) return error;
  return new DatabaseUnavailable(`SQLite: ${error.message}`, error);
}

/** Converts an error of `pg` into `DatabaseUnavailable`, unless the statement caused the error. */
export function translatePostgresError(error: unknown): unknown {
  if (error instanceof DatabaseUnavailable) return error;
  const code = property(error, 'code');
  const message = String(property(error, 'message') ?? error);
  const unavailable = isSqlState(code)
    ? POSTGRES_UNAVAILABLE_CLASSES.has(code.slice(0, 2)) || POSTGRES_UNAVAILABLE_STATES.has(code)
    : property(error, 'syscall') !== undefined || code === 'ECONNREFUSED' || POSTGRES_UNAVAILABLE_MESSAGE.test(message);
  return unavailable ? new DatabaseUnavailable(`PostgreSQL: ${message}`, error) : error;
}
