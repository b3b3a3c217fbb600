/** What an error of either database means to us. */

const PG_UNIQUE_VIOLATION = '23505';
const SQLITE_CONSTRAINT_UNIQUE = 2067;
/** Primary SQLite codes for a file that is busy, locked, failing or on a full disk. */
const SQLITE_UNAVAILABLE: ReadonlySet<number> = new Set([5, 6, 10, 13]);
/** SQLSTATE classes: connection, resources, operator intervention. */
const PG_UNAVAILABLE = /^(08|53|57)...$/;
const SYSTEM_UNAVAILABLE: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EHOSTUNREACH',
]);
/** The driver's own errors have words only. */
const PG_DRIVER_UNAVAILABLE =
  /^(Connection terminated|timeout expired|timeout exceeded|Query read timeout|Client has encountered)/i;

interface DatabaseErrorShape {
  readonly code?: unknown;
  readonly errcode?: unknown;
  readonly message?: unknown;
}

export function isUniqueViolation(error: unknown): boolean {
  const { code, errcode } = shapeOf(error);
  return code === PG_UNIQUE_VIOLATION || errcode === SQLITE_CONSTRAINT_UNIQUE;
}

/** True where the same request may succeed later: the database is away, busy or full. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some(isUnavailable);
  const { code, errcode, message } = shapeOf(error);
  // Extended SQLite codes carry the primary code in their low byte.
  if (typeof errcode === 'number' && SQLITE_UNAVAILABLE.has(errcode & 0xff)) return true;
  if (typeof code === 'string' && (PG_UNAVAILABLE.test(code) || SYSTEM_UNAVAILABLE.has(code))) return true;
  return typeof message === 'string' && PG_DRIVER_UNAVAILABLE.test(message);
}

function shapeOf(error: unknown): DatabaseErrorShape {
  return typeof error === 'object' && error !== null ? error : {};
}
