/** Tells errors of the database apart. */

const CONSTRAINT_UNIQUE = 2067;
/** Primary codes for a file that is busy, locked, failing or on a full disk. */
const UNAVAILABLE: ReadonlySet<number> = new Set([5, 6, 10, 13]);

export function isUniqueViolation(error: unknown): boolean {
  return codeOf(error) === CONSTRAINT_UNIQUE;
}

/** True where the same request may succeed later: the database is busy, failing or full. */
export function isUnavailable(error: unknown): boolean {
  // Extended codes carry the primary code in their low byte.
  return UNAVAILABLE.has(codeOf(error) & 0xff);
}

function codeOf(error: unknown): number {
  const { errcode } = (typeof error === 'object' && error !== null ? error : {}) as { readonly errcode?: unknown };
  return typeof errcode === 'number' ? errcode : 0;
}
