/** Explains in one line why the database could not be opened. The texts never contain a password. */
import { StartError } from '../../platform/start-error.js';
import { DatabaseOpenError, isSqlState, isTransientPostgresError } from './database-errors.js';

/** `SQLITE_IOERR_SHMSIZE`. The disk has no space for the shared-memory file of WAL mode. */
const NO_ROOM_FOR_SHARED_MEMORY = 4_874;

interface Details {
  readonly code?: string;
  readonly errcode?: number;
  readonly message?: string;
}

/** Returns the innermost cause, which is the driver's error. */
function rootCause(error: unknown): Details {
  let current = error as Details & { cause?: unknown };
  while (typeof current.cause === 'object' && current.cause !== null) current = current.cause;
  return current;
}

/** Reports whether the error already tells the operator what to do. */
function isReadyToShow(error: unknown): error is Error {
  return error instanceof DatabaseOpenError || error instanceof StartError;
}

/**
 * Converts an error of SQLite or the file system into a `DatabaseOpenError`, unless the error already tells the
 * operator what to do.
 */
export function sqliteOpenError(error: unknown, file: string): Error {
  if (isReadyToShow(error)) return error;
  const { code, errcode, message = String(error) } = rootCause(error);
  const primary = errcode === undefined || errcode === NO_ROOM_FOR_SHARED_MEMORY ? errcode : errcode & 0xff;
  const because = sqliteReason(code, primary, message, file);
  return new DatabaseOpenError(because, error);
}

function sqliteReason(code: string | undefined, errcode: number | undefined, message: string, file: string): string {
  if (code === 'ENOSPC' || errcode === 13 || errcode === NO_ROOM_FOR_SHARED_MEMORY)
    return `The disk of ${file} is full: free some space and start again.`;
  if (code === 'ENOTDIR' || code === 'EEXIST') {
    return `The data folder of ${file} is not a folder: set TRAILGATE_DATA_DIR to a folder.`;
  }
  if (['ENOENT', 'EACCES', 'EPERM', 'EROFS'].includes(code ?? '') || errcode === 8 || errcode === 14) {
    return (
      `${file} cannot be written: give this user write access to its folder, ` +
      'or set TRAILGATE_DATA_DIR to another one.'
    );
  }
  if (errcode === 26) {
    return `${file} is not an SQLite database: move it away, or set TRAILGATE_DATA_DIR to another folder.`;
  }
  if (errcode === 11) return `${file} is damaged: restore it from a backup (${message}).`;
  if (errcode === 5)
    return `${file} is locked by another process: stop that process, or set TRAILGATE_DATA_DIR to another folder.`;
  return `${file} cannot be opened: ${oneLine(message)}.`;
}

/**
 * Converts an error of `pg`, the server or the network into a `DatabaseOpenError`, unless the error already tells the
 * operator what to do.
 */
export function postgresOpenError(error: unknown, databaseUrl: string): Error {
  if (isReadyToShow(error)) return error;
  const details = rootCause(error);
  const url = URL.canParse(databaseUrl) ? new URL(databaseUrl) : undefined;
  if (url === undefined || !/^postgres(ql)?:$/.test(url.protocol)) {
    // The URL and the parser's error may contain the password, so neither is shown.
    return new DatabaseOpenError('DATABASE_URL is not a URL of the form postgres://user:password@host:5432/database.');
  }
  // Only the driver's message can contain the password. Our texts use other parts of the URL.
  const message = withoutPassword(details.message ?? '', url);
  const address = `${url.hostname || 'localhost'}:${url.port || '5432'}`;
  const isTransient = isTransientPostgresError(details.code, message);
  return new DatabaseOpenError(postgresReason(details.code, message, address, url), error, isTransient);
}

function postgresReason(code: string | undefined, message: string, address: string, url: URL): string {
  const database = decodeURIComponent(url.pathname.slice(1)) || decodeURIComponent(url.username);
  const user = decodeURIComponent(url.username);
  if (code === 'ECONNREFUSED')
    return `PostgreSQL at ${address} refuses connections: start it, or correct DATABASE_URL.`;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return `The host name of PostgreSQL (${address}) is not known: correct DATABASE_URL.`;
  }
  if (code === '28P01' || code === '28000' || /password must be a string/.test(message)) {
    return `PostgreSQL at ${address} refuses user "${user}" or its password: correct DATABASE_URL, or pg_hba.conf.`;
  }
  if (code === '3D000')
    return (
      `PostgreSQL at ${address} has no database "${database}": create it (createdb ${database}), ` +
      'or correct DATABASE_URL.'
    );
  if (code === '42501') {
    return (
      `PostgreSQL user "${user}" may not create tables in "${database}": make it the owner of the database, or ` +
      'grant it create on schema public.'
    );
  }
  if (code === '53300')
    return `PostgreSQL at ${address} has no free connection: raise max_connections, or stop other clients.`;
  // The server's own message is most precise, even if it contains the word timeout.
  if (isSqlState(code)) return `PostgreSQL at ${address} cannot be used: ${oneLine(message)} (SQLSTATE ${code}).`;
  if (/timeout/i.test(message))
    return (
      `PostgreSQL at ${address} does not answer in time: check that the server runs ` +
      'and that the network lets it through.'
    );
  if (/SSL/i.test(message)) return `PostgreSQL at ${address}: ${oneLine(message)}: correct sslmode in DATABASE_URL.`;
  return `PostgreSQL at ${address} cannot be used: ${oneLine(message)}.`;
}

function oneLine(text: string): string {
  return text
    .replace(/\s+/g, ' ')
    .replace(/[.\s]+$/, '')
    .trim();
}

function withoutPassword(text: string, url: URL): string {
  if (url.password === '') return text;
  return text.replaceAll(url.password, '***').replaceAll(decodeURIComponent(url.password), '***');
}
