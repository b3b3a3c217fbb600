/**
 * Reads the request log of an account in pages. A page takes one to three statements, each limited to a maximum number
 * of scanned rows. If few of the scanned rows match, a page can be short or empty although more pages follow.
 */
import { sql, type Kysely, type RawBuilder } from 'kysely';
import { decodeJsonCursor, encodeCursor, invalidCursor } from '../stores/database/cursor.js';
import { kindOf } from '../stores/database/database-kind.js';
import type { RequestLogTable, Tables } from '../stores/database/schema.js';
import { scopesWithin } from '../stores/database/scopes-within.js';
import { dayOf } from './days.js';
import type { RequestLogQuery } from './request-log-query.js';
import { isRowPosition, LAST_DAY, TailPosition, type PassedRows, type RowPosition } from './tail-position.js';

/** Maximum number of rows that a filtered page scans. */
const MAX_LOOKED_AT = 10_000;

const ASC = sql`asc`;
const DESC = sql`desc`;

/** A row with the current name of its API key. */
export interface LoggedRequest extends RequestLogTable {
  /** Null if the API key no longer exists. */
  readonly api_key_name: string | null;
}

/** A page of requests. */
export interface RequestLogPage {
  readonly data: readonly LoggedRequest[];
  /** Whether more rows may exist now. Can be true for an empty page. */
  readonly hasMore: boolean;
  /** Null on the last page. Never null with `asc`, because more rows may be written later. */
  readonly nextCursor: string | null;
}

/** RequestLogReader reads rows without regard to the retention; see `RequestLogs`. */
export class RequestLogReader {
  constructor(
    private readonly db: Kysely<Tables>,
    private readonly nowMs: () => number,
  ) {}

  /** Returns a page of an account's requests. Rejects with `invalid_cursor` or the database's error. */
  readPage(accountId: string, query: RequestLogQuery): Promise<RequestLogPage> {
    const { keyId = '', operation = '', status = [], code = '', requestId = '', source = '', order } = query;
    const list = ['requests', order, accountId, keyId, operation, status.join('-'), code, requestId, source].join(':');
    return order === 'asc' ? this.forward(accountId, query, list) : this.backward(accountId, query, list);
  }

  /** Returns the latest request with this ID that ended at or after `sinceMs`, or undefined. */
  async find(
    accountId: string,
    requestId: string,
    sinceMs: number,
    granted?: readonly string[],
  ): Promise<LoggedRequest | undefined> {
    const query = { from: sinceMs, to: Number.MAX_SAFE_INTEGER, requestId, granted, limit: 1, order: 'desc' } as const;
    return (await this.readPage(accountId, query)).data[0];
  }

  /** Returns a page in descending order. */
  private async backward(accountId: string, query: RequestLogQuery, list: string): Promise<RequestLogPage> {
    const { cursor, limit } = query;
    const before = cursor === undefined ? undefined : parseRowPosition(decodeJsonCursor(list, cursor));
    const beyond = before === undefined ? sql`` : sql`and (day, at, node, seq) < (${sql.join(before)})`;
    // First find the last row to scan, then read up to that row. Rows that are written meanwhile are newer.
    const end = hasFilters(query) ? await this.lastScanned(this.scanned(accountId, query, beyond, DESC)) : undefined;
    const seen =
      end === undefined ? beyond : sql`${beyond} and (day, at, node, seq) >= (${sql.join(rowPositionOf(end))})`;
    const rows = await this.matching(query, this.scanned(accountId, query, seen, DESC, end === undefined), DESC);
    const last = rows.length > limit ? rows[limit - 1] : end;
    return {
      data: rows.slice(0, limit),
      hasMore: last !== undefined,
      nextCursor: last === undefined ? null : encodeCursor(list, JSON.stringify(rowPositionOf(last))),
    };
  }

  /** Returns a page in ascending order. */
  private async forward(accountId: string, query: RequestLogQuery, list: string): Promise<RequestLogPage> {
    const { cursor, limit, from } = query;
    const position = cursor === undefined ? new TailPosition(from) : TailPosition.parse(decodeJsonCursor(list, cursor));
    const beyond = position.unreadConditions();
    const since = { ...query, from: position.floorMs };
    // First find how far the scan reaches, then read up to that point. The next page contains rows that are written
    // meanwhile.
    let passed = await this.readPositions(this.scanned(accountId, since, beyond, ASC));
    const isFull = passed.reduce((sum, { rows: count }) => sum + count, 0) >= scanLimit(query);
    const seen = this.scanned(accountId, since, sql`${beyond} ${upTo(passed)}`, ASC);
    const rows = passed.length === 0 ? [] : await this.matching(query, seen, ASC);
    const last = rows.length > limit ? rows[limit - 1] : undefined;
    if (last !== undefined) passed = await this.readPositions(seen, last);
    return {
      data: rows.slice(0, limit),
      hasMore: last !== undefined || isFull,
      nextCursor: encodeCursor(list, position.after(passed, last && rowPositionOf(last), this.nowMs()).toString()),
    };
  }

  /**
   * Returns a subquery for the rows that a page scans, in order.
   * @param beyond conditions that exclude rows before the page. Each begins with `and`.
   */
  private scanned(
    accountId: string,
    query: RequestLogQuery,
    beyond: RawBuilder<unknown>,
    order: RawBuilder<unknown>,
    isLimited = true,
  ): RawBuilder<unknown> {
    const { from, to, keyId, granted, requestId } = query;
    const ofKey = keyId === undefined ? sql`` : sql`and api_key_id = ${keyId}`;
    // Check the key of each row, because an account can have far more keys than a page has rows.
    const ofKeys =
      granted === undefined
        ? sql``
        : sql`and exists (
            select 1 from api_key
            where api_key.id = request_log.api_key_id and ${scopesWithin(kindOf(this.db), granted)})`;
    const ofRequest = requestId === undefined ? sql`` : sql`and request_id = ${requestId}`;
    // With the days, PostgreSQL can skip partitions.
    return sql`(
      select * from request_log
      where account_id = ${accountId} and day between ${dayOf(from)} and ${lastDay(to)}
        and at between ${from} and ${to} ${ofKey} ${ofKeys} ${ofRequest} ${beyond}
      order by day ${order}, at ${order}, node ${order}, seq ${order}
      ${isLimited ? sql`limit ${scanLimit(query)}` : sql``}
    )`;
  }

  /** Reads the scanned rows that match all filters, at most one more than the page needs. */
  private async matching(
    { operation, status, code, source, limit }: RequestLogQuery,
    seen: RawBuilder<unknown>,
    order: RawBuilder<unknown>,
  ): Promise<LoggedRequest[]> {
    const wanted = [
      ...(operation === undefined ? [] : [sql`operation = ${operation}`]),
      ...(status === undefined ? [] : [sql`seen.status between ${status[0]} and ${status[1]}`]),
      ...(code === undefined ? [] : [sql`code = ${code}`]),
      ...(source === undefined ? [] : [sql`source = ${source}`]),
      sql`1 = 1`,
    ];
    const { rows } = await sql<LoggedRequest>`
      select seen.*, api_key.name as api_key_name from ${seen} as seen
      left join api_key on api_key.id = seen.api_key_id
      where ${sql.join(wanted, sql` and `)}
      order by day ${order}, at ${order}, node ${order}, seq ${order}
      limit ${limit + 1}
    `.execute(this.db);
    return rows;
  }

  /** Returns the row at which a scan reaches its limit; undefined if the scan reaches the end of the log first. */
  private async lastScanned(seen: RawBuilder<unknown>): Promise<RequestLogTable | undefined> {
    const { rows } = await sql<RequestLogTable>`
      select day, at, node, seq from ${seen} as seen limit 1 offset ${sql.lit(MAX_LOOKED_AT - 1)}
    `.execute(this.db);
    return rows[0];
  }

  /** Returns how far a page reads the rows of each process. @param last ignores the rows after this one. */
  private async readPositions(seen: RawBuilder<unknown>, last?: RequestLogTable): Promise<PassedRows[]> {
    const until = last === undefined ? sql`` : sql`where (day, at, node, seq) <= (${sql.join(rowPositionOf(last))})`;
    const { rows } = await sql<PassedRows>`
      select node, max(seq) as seq, max(at) as at, cast(count(*) as bigint) as rows
      from ${seen} as seen ${until} group by node
    `.execute(this.db);
    return rows;
  }
}

function rowPositionOf({ day, at, node, seq }: RequestLogTable): RowPosition {
  return [day, at, node, seq];
}

/** Returns a condition for the rows up to these positions. Excludes the rows of all other processes. */
function upTo(passed: readonly PassedRows[]): RawBuilder<unknown> {
  const each = passed.map(({ node, seq }) => sql`(node = ${node} and seq <= ${seq})`);
  return sql`and (${sql.join(each, sql` or `)})`;
}

/** Reports whether a query has filters that apply only after the scan, so that scanned rows may not match. */
function hasFilters({ operation, status, code, source }: RequestLogQuery): boolean {
  return operation !== undefined || status !== undefined || code !== undefined || source !== undefined;
}

function scanLimit(query: RequestLogQuery): number {
  return hasFilters(query) ? MAX_LOOKED_AT : query.limit + 1;
}

const LAST_DAY_MS = Date.UTC(9999, 11, 31);

function lastDay(toMs: number): number {
  return toMs >= LAST_DAY_MS ? LAST_DAY : dayOf(toMs);
}

/** @throws Problem `invalid_cursor` for a value that is not a row position. */
function parseRowPosition(value: unknown): RowPosition {
  if (!isRowPosition(value)) throw invalidCursor();
  return value;
}
