/** Lists of accounts: searched, filtered and sorted by the database. */
import { createHash } from 'node:crypto';
import { sql, type Kysely, type RawBuilder, type SqlBool } from 'kysely';
import {
  decodeJsonCursor,
  encodeCursor,
  invalidCursor,
  type Page,
  type PageRequest,
} from '../stores/database/cursor.js';
import { likeAnywhere, searchText } from '../stores/database/search/search-text.js';
import type { AccountTable, Tables } from '../stores/database/schema.js';

export const ACCOUNT_SORTS = ['created', 'name'] as const;

/** Which accounts somebody may know of. */
export type VisibleAccounts = 'all' | { readonly accountId: string } | { readonly memberId: string };

/** Which accounts, and in which order. */
export interface AccountQuery extends PageRequest {
  /** Part of a name, or the whole of an id. */
  readonly q?: string | undefined;
  readonly status?: AccountTable['status'] | undefined;
  /** `created` unless said. */
  readonly sort?: (typeof ACCOUNT_SORTS)[number] | undefined;
}

type Row = AccountTable & { readonly position: string };

/** Ids are in the order in which accounts were made, and tell equal names apart. */
const SORTED_BY = { created: sql<string>`id`, name: sql<string>`search` } as const;

/** A page of accounts. Rejects with `invalid_cursor` for one of another list, or of another query. */
export async function pageOfAccounts<T>(
  db: Kysely<Tables>,
  query: AccountQuery,
  visible: VisibleAccounts,
  map: (row: AccountTable) => T,
): Promise<Page<T>> {
  const list = listName(query);
  const rows = await rowsOf(db, query, visible, list);
  const shown = rows.slice(0, query.limit);
  const last = rows.length > query.limit ? shown.at(-1) : undefined;
  return {
    data: shown.map(map),
    nextCursor: last === undefined ? null : encodeCursor(list, JSON.stringify([last.position, last.id])),
  };
}

function rowsOf(db: Kysely<Tables>, query: AccountQuery, visible: VisibleAccounts, list: string): Promise<Row[]> {
  const { limit, cursor, q, status, sort = 'created' } = query;
  const by: RawBuilder<string> = SORTED_BY[sort];
  let select = db.selectFrom('account').selectAll().select(by.as('position'));
  if (visible !== 'all' && 'accountId' in visible) select = select.where('id', '=', visible.accountId);
  if (visible !== 'all' && 'memberId' in visible) {
    const own = db.selectFrom('account_member').select('account_id').where('member_id', '=', visible.memberId);
    select = select.where('id', 'in', own);
  }
  if (q !== undefined && q !== '') {
    select = select.where(sql<SqlBool>`(search like ${likeAnywhere(searchText(q))} escape '\\' or id = ${q})`);
  }
  if (status !== undefined) select = select.where('status', '=', status);
  if (cursor !== undefined) {
    const [position, id] = positionOf(list, cursor);
    select = select.where(sql<SqlBool>`(${by}, id) > (${position}, ${id})`);
  }
  return select
    .orderBy(by)
    .orderBy('id')
    .limit(limit + 1)
    .execute();
}

/** A cursor of one query says nothing in another; the words that are searched for do not stand in it. */
function listName({ q = '', status, sort = 'created' }: AccountQuery): string {
  const filters = JSON.stringify([q, status ?? null]);
  return `accounts:${sort}:${createHash('sha256').update(filters).digest('base64url').slice(0, 16)}`;
}

/** Where the last page ended. Throws `invalid_cursor` for what no page has given out. */
function positionOf(list: string, cursor: string): readonly [string, string] {
  const values = decodeJsonCursor(list, cursor);
  if (Array.isArray(values) && values.length === 2) {
    const [position, id] = values as readonly unknown[];
    if (isText(position) && isText(id)) return [position, id];
  }
  throw invalidCursor();
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && !value.includes('\0');
}
