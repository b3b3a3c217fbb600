/**
 * Encodes and decodes the cursors of paginated lists. Cursors are opaque to the caller and valid only for the list that
 * returned them.
 */
import { Problem } from '../../platform/problems/errors.js';

const VERSION = 1;

/** Page is one page of a list. The API returns it as `{data, has_more, next_cursor}`. */
export interface Page<T> {
  readonly data: readonly T[];
  /** Null on the last page. */
  readonly nextCursor: string | null;
}

export interface PageRequest {
  /** Maximum number of items, from 1 to 100. */
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/**
 * Creates the cursor that continues after the row `id`.
 * @param list identifies the list with its filters
 */
export function encodeCursor(list: string, id: string): string {
  return Buffer.from(JSON.stringify([VERSION, list, id])).toString('base64url');
}

/**
 * Returns the ID after which the page starts.
 * @throws Problem `invalid_cursor` for a text that is not a cursor of this list.
 */
export function decodeCursor(list: string, cursor: string): string {
  let parts: unknown;
  try {
    parts = JSON.parse(Buffer.from(cursor, 'base64url').toString());
  } catch {
    parts = undefined;
  }
  if (Array.isArray(parts) && parts.length === 3) {
    const [version, name, id] = parts as readonly unknown[];
    // PostgreSQL rejects text that contains NUL.
    if (version === VERSION && name === list && typeof id === 'string' && !id.includes('\0')) return id;
  }
  throw invalidCursor();
}

/** Decodes a cursor whose ID is JSON, and returns the parsed ID. Throws like `decodeCursor`. */
export function decodeJsonCursor(list: string, cursor: string): unknown {
  const text = decodeCursor(list, cursor);
  try {
    return JSON.parse(text);
  } catch {
    throw invalidCursor();
  }
}

/** Creates the error for a text that is not a cursor of the requested list. */
export function invalidCursor(): Problem {
  return new Problem('invalid_cursor', {
    detail: 'This cursor does not belong to this list. Start again without one.',
    errors: [{ parameter: 'cursor', detail: 'is not a cursor of this list' }],
  });
}

/**
 * Creates a page from its rows.
 * @param limit maximum number of items
 * @param rows up to `limit + 1` rows. The additional row shows that there is a next page.
 */
export function pageOf<R extends { id: string }, T>(
  list: string,
  limit: number,
  rows: readonly R[],
  map: (row: R) => T,
): Page<T> {
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  return {
    data: rows.slice(0, limit).map(map),
    nextCursor: last === undefined ? null : encodeCursor(list, last.id),
  };
}
