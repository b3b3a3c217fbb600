/**
 * Reads pages of an account's keys, with the monthly usage of each key. The database searches, filters and sorts the
 * keys. A cursor is valid only for the query that returned the cursor.
 */
import { createHash } from 'node:crypto';
import { sql, type Expression, type RawBuilder, type SqlBool } from 'kysely';
import { decodeCursor, encodeCursor, invalidCursor, type Page, type PageRequest } from '../stores/database/cursor.js';
import { externalConditions, type ExternalQuery } from '../records/external-fields.js';
import { likeAnywhere, searchText } from '../stores/database/search/search-text.js';
import type { ApiKeyTable } from '../stores/database/schema.js';
import { KEY_MONTH } from '../platform/quotas/windows.js';
import { effectiveLimits } from '../quota/model/effective-limits.js';
import { scopesWithin } from '../stores/database/scopes-within.js';
import { calendarOf } from '../quota/model/month-period.js';
import type { Account, StoreDependencies } from './accounts.js';
import { apiKeyOf, type ApiKey } from './api-key-rows.js';

export const API_KEY_SORTS = ['created', 'name', 'last_used'] as const;
export type ApiKeySort = (typeof API_KEY_SORTS)[number];

/** ApiKeyQuery contains the filters and the order of a list of keys. */
export interface ApiKeyQuery extends PageRequest, ExternalQuery {
  /**
   * Search text: part of a name, a complete ID, `external_id` or hint, or the last four characters of a secret.
   * Undefined or empty: all keys.
   */
  readonly q?: string | undefined;
  /** Selects only keys with one of these statuses. Undefined: any status. */
  readonly statuses?: readonly ApiKey['status'][] | undefined;
  readonly environment?: ApiKey['environment'] | undefined;
  /** True: keys of OAuth clients. False: keys with a secret. Undefined: both. */
  readonly hasOAuthClient?: boolean | undefined;
  /** ID of a member. Selects only keys of OAuth clients that this member authorized. */
  readonly authorizedBy?: string | undefined;
  /** Selects only keys whose scopes are all within these scopes. Undefined: all keys. */
  readonly granted?: readonly string[] | undefined;
  readonly sort: ApiKeySort;
  readonly order: 'asc' | 'desc';
}

/** ListedApiKey is a key in a list, with its monthly usage. */
export interface ListedApiKey extends ApiKey {
  /**
   * Requests counted this month, as of the last write to the database (`usage.flushInterval`, 5 seconds by default).
   */
  readonly monthUsed: number;
  /**
   * Monthly limit of the key, including its grant. Null if the key has no limit of its own, or if its plan is not
   * configured.
   */
  readonly monthLimit: number | null;
}

type Row = ApiKeyTable & { readonly position: string | number };

/** Sort expressions. IDs ascend in the order of creation, and decide the order of equal values. */
const SORTED_BY = {
  created: sql<string>`id`,
  name: sql<string>`search`,
  // SQLite and PostgreSQL sort nulls at opposite ends. Sort keys that were never used as the oldest.
  last_used: sql<number>`coalesce(last_used_at, 0)`,
} as const satisfies Record<ApiKeySort, RawBuilder<unknown>>;

/** ApiKeyList reads pages of an account's keys. Rejects with the database's error. */
export class ApiKeyList {
  constructor(private readonly deps: Pick<StoreDependencies, 'database' | 'clock' | 'catalogue'>) {}

  /** Returns a page of keys. Rejects with `invalid_cursor` if the cursor belongs to another list or query. */
  async page(account: Account, query: ApiKeyQuery): Promise<Page<ListedApiKey>> {
    const now = this.deps.clock.now();
    const list = listName(account.id, query);
    const rows = await this.rows(account.id, query, list, now);
    const shown = rows.slice(0, query.limit);
    const last = rows.length > query.limit ? shown.at(-1) : undefined;
    const month = calendarOf(account.timeZone, account.billingDay).at(now).label;
    const used = await this.monthsUsed(account.id, month, shown);
    const plan = this.deps.catalogue.plan(account.plan);
    const limitOf = ({ limits, grant }: ApiKey): number | null => {
      if (plan === undefined) return null;
      const changes = { keyLimits: limits, accountGrant: account.grant, keyGrant: grant };
      const keyMonth = effectiveLimits(plan, changes, month)[KEY_MONTH];
      return keyMonth === Infinity ? null : keyMonth;
    };
    return {
      data: shown.map((row) => {
        const key = apiKeyOf(row, now);
        return { ...key, monthUsed: used.get(key.id) ?? 0, monthLimit: limitOf(key) };
      }),
      nextCursor: last === undefined ? null : encodeCursor(list, JSON.stringify([last.position, last.id])),
    };
  }

  private rows(accountId: string, query: ApiKeyQuery, list: string, nowMs: number): Promise<Row[]> {
    const { limit, cursor, sort, order, q, statuses, environment, hasOAuthClient, authorizedBy, granted } = query;
    const by: RawBuilder<string | number> = SORTED_BY[sort];
    const beyond = order === 'asc' ? sql`>` : sql`<`;
    let select = this.deps.database.db
      .selectFrom('api_key')
      .selectAll()
      .select(by.as('position'))
      .where('account_id', '=', accountId);
    if (q !== undefined && q !== '') select = select.where(matching(q));
    if (statuses !== undefined) select = select.where(inStatus(statuses, nowMs));
    if (environment !== undefined) select = select.where('environment', '=', environment);
    if (hasOAuthClient !== undefined) select = select.where('oauth_client_id', hasOAuthClient ? 'is not' : 'is', null);
    if (granted !== undefined) select = select.where(scopesWithin(this.deps.database.kind, granted));
    if (authorizedBy !== undefined) select = select.where('oauth_member_id', '=', authorizedBy);
    for (const condition of externalConditions(this.deps.database.kind, query)) select = select.where(condition);
    if (cursor !== undefined) {
      const [position, id] = positionOf(list, cursor, sort);
      // Compare only the IDs, so that the database can use an index.
      const after = sort === 'created' ? sql<SqlBool>`id ${beyond} ${id}` : undefined;
      select = select.where(after ?? sql<SqlBool>`(${by}, id) ${beyond} (${position}, ${id})`);
    }
    if (sort !== 'created') select = select.orderBy(by, order);
    return select
      .orderBy('id', order)
      .limit(limit + 1)
      .execute();
  }

  /** Reads the month counts of the keys of one page, by key ID. Keys without a count have no entry. */
  private async monthsUsed(accountId: string, month: number, rows: readonly Row[]): Promise<Map<string, number>> {
    if (rows.length === 0) return new Map();
    const ids = rows.map(({ id }) => id);
    const counters = await this.deps.database.db
      .selectFrom('quota_counter')
      .select(['api_key_id', 'used'])
      .where('account_id', '=', accountId)
      .where('api_key_id', 'in', ids)
      .where('period', '=', month)
      .execute();
    return new Map(counters.map(({ api_key_id, used }) => [api_key_id, used]));
  }
}

/**
 * Returns a name that binds a cursor to its query. The name contains a hash, so that search terms do not appear in
 * URLs.
 */
function listName(accountId: string, query: ApiKeyQuery): string {
  const { q = '', statuses, environment, hasOAuthClient = null, authorizedBy = null, sort, order } = query;
  const { external_id: externalId = null, metadata = null } = query;
  const shown = [
    q,
    statuses?.toSorted() ?? null,
    environment ?? null,
    hasOAuthClient,
    authorizedBy,
    externalId,
    metadata,
  ];
  const filters = JSON.stringify(shown);
  const hash = createHash('sha256').update(filters).digest('base64url').slice(0, 16);
  return `api-keys:${accountId}:${sort}:${order}:${hash}`;
}

/**
 * Reads the sort value and the ID after which the page starts. Throws `invalid_cursor` if the cursor is malformed or
 * belongs to another list.
 */
function positionOf(list: string, cursor: string, sort: ApiKeySort): readonly [string | number, string] {
  const values = parsed(decodeCursor(list, cursor));
  if (Array.isArray(values) && values.length === 2) {
    const [position, id] = values as readonly unknown[];
    const isValid = sort === 'last_used' ? Number.isSafeInteger(position) : isText(position);
    if (isValid && isText(id)) return [position as string | number, id as string];
  }
  throw invalidCursor();
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && !value.includes('\0');
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

function matching(q: string): Expression<SqlBool> {
  // People often know only the hint, or the last characters of a secret in a log.
  const hints = [q, `tg_live_…${q}`, `tg_test_…${q}`, `…${q}`];
  return sql<SqlBool>`(
    search like ${likeAnywhere(searchText(q))} escape '\\' or id = ${q} or external_id = ${q} or hint in (${sql.join(hints)})
  )`;
}

/** Returns the SQL condition for statuses. `expired` is not stored, because it follows from the expiration time. */
function inStatus(statuses: readonly ApiKey['status'][], nowMs: number): Expression<SqlBool> {
  const isExpired = sql`(expires_at is not null and expires_at <= ${nowMs})`;
  const each = statuses.map((status) => {
    if (status === 'revoked') return sql`status = 'revoked'`;
    if (status === 'expired') return sql`(status <> 'revoked' and ${isExpired})`;
    return sql`(status = ${status} and not ${isExpired})`;
  });
  return sql<SqlBool>`(${sql.join(each, sql` or `)})`;
}
