/** Cursors of lists: opaque to the caller, tied to the list that they came from. */
import { Problem } from '../../platform/problems/errors.js';

const VERSION = 1;

/** One page of a list; `{data, has_more, next_cursor}` is made of it. */
export interface Page<T> {
  readonly data: readonly T[];
  /** Null on the last page. */
  readonly nextCursor: string | null;
}

export interface PageRequest {
  /** 1–100. */
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/** The cursor after the row with this id. `list` names the list and its filters, so that no other list takes it. */
export function encodeCursor(list: string, id: string): string {
  return Buffer.from(JSON.stringify([VERSION, list, id])).toString('base64url');
}

/** The id after which the page starts. Throws `invalid_cursor` for anything that this list has not given out. */
export function decodeCursor(list: string, cursor: string): string {
  let parts: unknown;
  try {
    parts = JSON.parse(Buffer.from(cursor, 'base64url').toString());
  } catch {
    parts = undefined;
  }
  if (Array.isArray(parts) && parts.length === 3) {
    const [version, name, id] = parts as readonly unknown[];
    // PostgreSQL takes no text with a NUL in it.
    if (version === VERSION && name === list && typeof id === 'string' && !id.includes('\0')) return id;
  }
  throw invalidCursor();
}

/** The same for a cursor whose id is JSON. */
export function decodeJsonCursor(list: string, cursor: string): unknown {
  const text = decodeCursor(list, cursor);
  try {
    return JSON.parse(text);
  } catch {
    throw invalidCursor();
  }
}

/** For a cursor that its list has not given out. */
export function invalidCursor(): Problem {
  return new Problem('invalid_cursor', {
    detail: 'This cursor does not belong to this list. Start again without one.',
    errors: [{ parameter: 'cursor', detail: 'is not a cursor of this list' }],
  });
}

/** A page of `limit` from up to `limit + 1` rows that were read. */
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
