/**
 * Reads pages of accounts for the admin API. The database searches, filters and sorts the accounts. A cursor is valid
 * only for the query that returned the cursor.
 */
import { createHash } from 'node:crypto';
import { sql, type RawBuilder, type SqlBool } from 'kysely';
import { externalConditions, type ExternalQuery } from '../records/external-fields.js';
import type { DatabaseHandle } from '../stores/database/connect.js';
import {
  decodeJsonCursor,
  encodeCursor,
  invalidCursor,
  type Page,
  type PageRequest,
} from '../stores/database/cursor.js';
import { likeAnywhere, searchText } from '../stores/database/search/search-text.js';
import type { AccountTable } from '../stores/database/schema.js';

export const ACCOUNT_SORTS = ['created', 'name'] as const;

/**
 * VisibleAccounts selects the accounts that the caller can see: all accounts, one account, or the accounts of a member.
 */
export type VisibleAccounts = 'all' | { readonly accountId: string } | { readonly memberId: string };

/** AccountQuery contains the filters and the order of a list of accounts. */
export interface AccountQuery extends PageRequest, ExternalQuery {
  /** Search text: part of a name, or a complete ID or `external_id`. Undefined or empty: all accounts. */
  readonly q?: string | undefined;
  readonly status?: AccountTable['status'] | undefined;
  /** Order of the list. Undefined: `created`, oldest first. */
  readonly sort?: (typeof ACCOUNT_SORTS)[number] | undefined;
}

type Row = AccountTable & { readonly position: string };

/** Sort expressions. IDs ascend in the order of creation, and decide the order of accounts with the same name. */
const SORTED_BY = { created: sql<string>`id`, name: sql<string>`search` } as const;

/**
 * Returns a page of accounts. Omits accounts that are being deleted. Rejects with `invalid_cursor` if the cursor
 * belongs to a different query.
 */
export async function pageOfAccounts<T>(
  database: DatabaseHandle,
  query: AccountQuery,
  visible: VisibleAccounts,
  map: (row: AccountTable) => T,
): Promise<Page<T>> {
  const list = listName(query);
  const rows = await rowsOf(database, query, visible, list);
  const shown = rows.slice(0, query.limit);
  const last = rows.length > query.limit ? shown.at(-1) : undefined;
  return {
    data: shown.map(map),
    nextCursor: last === undefined ? null : encodeCursor(list, JSON.stringify([last.position, last.id])),
  };
}

function rowsOf(
  { db, kind }: DatabaseHandle,
  query: AccountQuery,
  visible: VisibleAccounts,
  list: string,
): Promise<Row[]> {
  const { limit, cursor, q, status, sort = 'created' } = query;
  const by: RawBuilder<string> = SORTED_BY[sort];
  const deleted = db.selectFrom('account_deletion').select('account_id');
  let select = db.selectFrom('account').selectAll().select(by.as('position')).where('id', 'not in', deleted);
  if (visible !== 'all' && 'accountId' in visible) select = select.where('id', '=', visible.accountId);
  if (visible !== 'all' && 'memberId' in visible) {
    const own = db.selectFrom('account_member').select('account_id').where('member_id', '=', visible.memberId);
    select = select.where('id', 'in', own);
  }
  if (q !== undefined && q !== '') {
    select = select.where(
      sql<SqlBool>`(search like ${likeAnywhere(searchText(q))} escape '\\' or id = ${q} or external_id = ${q})`,
    );
  }
  if (status !== undefined) select = select.where('status', '=', status);
  for (const condition of externalConditions(kind, query)) select = select.where(condition);
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

/**
 * Returns the name that binds a cursor to its query. The name contains a hash of the filters, which hides the search
 * text.
 */
function listName({ q = '', status, external_id: id, metadata, sort = 'created' }: AccountQuery): string {
  const filters = JSON.stringify([q, status ?? null, id ?? null, metadata ?? null]);
  return `accounts:${sort}:${createHash('sha256').update(filters).digest('base64url').slice(0, 16)}`;
}

/**
 * Reads the sort value and the ID after which the page starts. Throws `invalid_cursor` if the cursor is malformed or
 * belongs to another list.
 */
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
