/** Classifies errors of SQLite by their result codes. */

/** Extended result code SQLITE_CONSTRAINT_UNIQUE. */
const CONSTRAINT_UNIQUE = 2067;
/** Primary result codes of temporary errors: SQLITE_BUSY, SQLITE_LOCKED, SQLITE_IOERR and SQLITE_FULL. */
const UNAVAILABLE: ReadonlySet<number> = new Set([5, 6, 10, 13]);

export function isUniqueViolation(error: unknown): boolean {
  return codeOf(error) === CONSTRAINT_UNIQUE;
}

/** Reports whether a database error is temporary, so that a retry of the request may succeed. */
export function isUnavailable(error: unknown): boolean {
  // The low byte of an extended code is the primary code.
  return UNAVAILABLE.has(codeOf(error) & 0xff);
}

/** Returns the SQLite result code of an error, or 0 for other errors. */
function codeOf(error: unknown): number {
  const { errcode } = (typeof error === 'object' && error !== null ? error : {}) as { readonly errcode?: unknown };
  return typeof errcode === 'number' ? errcode : 0;
}
