/** Classifies errors of SQLite by their result codes. */

/** Extended result code of SQLite. */
const CONSTRAINT_UNIQUE = 2067;
/** Primary result codes: busy, locked, I/O error, disk full. */
const UNAVAILABLE: ReadonlySet<number> = new Set([5, 6, 10, 13]);

export function isUniqueViolation(error: unknown): boolean {
  return codeOf(error) === CONSTRAINT_UNIQUE;
}

/** Reports whether a database error is temporary, so that the same request may succeed later. */
export function isUnavailable(error: unknown): boolean {
  // The low byte of an extended code is the primary code.
  return UNAVAILABLE.has(codeOf(error) & 0xff);
}

/** Returns the result code of SQLite; 0 for other errors. */
function codeOf(error: unknown): number {
  const { errcode } = (typeof error === 'object' && error !== null ? error : {}) as { readonly errcode?: unknown };
  return typeof errcode === 'number' ? errcode : 0;
}
