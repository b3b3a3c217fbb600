/**
 * Reads sums of usage rows page by page, for usage reports and exports. Each page takes one statement with a bounded
 * number of result rows.
 */
import { sql, type Kysely } from 'kysely';
import { decodeCursor, encodeCursor, invalidCursor, type Page } from '../../stores/database/cursor.js';
import { kindOf } from '../../stores/database/database-kind.js';
import type { Tables } from '../../stores/database/schema.js';
import { scopesWithin } from '../../stores/database/scopes-within.js';
import { IN_FLIGHT, OUTCOME_NAMES, SHADOW_REFUSED_NAME } from '../model/usage-cell.js';
import { dateOf, USAGE_GROUPS, type UsageGroup, type UsageQuery } from './usage-query.js';

/** UsageOwner is an account, or one of its keys. `keyId` is undefined for an account. */
export interface UsageOwner {
  readonly accountId: string;
  readonly keyId: string | undefined;
}

/** UsageRow is one row of a response, with the values of its groups and the sums. */
export interface UsageRow {
  /** First day of the billing period. */
  readonly month?: string;
  readonly day?: string;
  /** Null for adjustments of the account's own count by an operator. */
  readonly api_key_id?: string | null;
  /** Null for adjustments, and for unrecorded usage whose operation is unknown. */
  readonly operation?: string | null;
  readonly outcome?: string;
  readonly requests: number;
  /** Cost in the same units as in the counters. */
  readonly cost: number;
}

type RawRow = Record<string, string | number> & { requests: number; cost: number };

/** UsageRows reads pages of usage rows. */
export class UsageRows {
  constructor(private readonly db: Kysely<Tables>) {}

  /** Returns a page of sums, sorted by the groups. Rejects with Problem `invalid_cursor`, or if the database does. */
  async readPage(owner: UsageOwner, query: UsageQuery): Promise<Page<UsageRow>> {
    const { groups, limit, cursor, ofShadow = false } = query;
    const list = `${ofShadow ? 'shadow' : 'usage'}:${owner.accountId}:${owner.keyId ?? ''}:${groups.join()}`;
    const after = cursor === undefined ? undefined : positionOf(list, cursor, groups);
    const rows = await this.read(owner, query, after);
    const last = rows.length > limit ? rows[limit - 1] : undefined;
    const position = last && JSON.stringify(groups.map((group) => last[USAGE_GROUPS[group]]));
    return {
      data: rows.slice(0, limit).map((row) => usageRow(row, groups)),
      nextCursor: position === undefined ? null : encodeCursor(list, position),
    };
  }

  /** Yields all pages in order. */
  async *readAllPages(owner: UsageOwner, query: UsageQuery): AsyncGenerator<readonly UsageRow[]> {
    for (let cursor = query.cursor; ;) {
      const page = await this.readPage(owner, { ...query, cursor });
      yield page.data;
      if (page.nextCursor === null) return;
      cursor = page.nextCursor;
    }
  }

  private async read(
    { accountId, keyId }: UsageOwner,
    { groups, from, to, limit, ofShadow = false, granted }: UsageQuery,
    after: readonly (string | number)[] | undefined,
  ): Promise<RawRow[]> {
    const columns = sql.join(groups.map((group) => sql.ref(USAGE_GROUPS[group])));
    const ofKey = keyId === undefined ? sql`` : sql`and api_key_id = ${keyId}`;
    // Find the keys once for all rows, because an account has far more usage rows than keys.
    const ofGranted =
      granted === undefined
        ? sql``
        : sql`and api_key_id in (
            select id from api_key where account_id = ${accountId} and ${scopesWithin(kindOf(this.db), granted)})`;
    const own = sql`account_id = ${accountId} and day between ${from} and ${to} ${ofKey} ${ofGranted}`;
    const shadow = sql`outcome ${ofShadow ? sql`=` : sql`<>`} ${SHADOW_REFUSED_NAME}`;
    const beyond = after === undefined ? sql`` : sql`and (${columns}) > (${sql.join(after)})`;
    const { rows } = await sql<RawRow>`
      select ${columns}, cast(sum(requests) as bigint) as requests, cast(sum(cost) as bigint) as cost
      from (
        select period, day, api_key_id, operation, outcome, requests, cost from usage_daily where ${own}
        union all
        select period, day, api_key_id, operation, ${sql.lit(OUTCOME_NAMES[IN_FLIGHT])}, requests, cost
        from usage_in_flight where ${own}
      ) as usage
      where ${shadow} ${beyond}
      group by ${columns}
      having sum(requests) <> 0 or sum(cost) <> 0
      order by ${columns}
      limit ${limit + 1}
    `.execute(this.db);
    return rows;
  }
}

/**
 * Returns the position in a cursor, which is the last row of the previous page. Throws Problem `invalid_cursor` if the
 * cursor is not one of this list or its content is not valid.
 */
function positionOf(list: string, cursor: string, groups: readonly UsageGroup[]): (string | number)[] {
  const values: unknown = parseJson(decodeCursor(list, cursor));
  const isPosition =
    Array.isArray(values) &&
    values.length === groups.length &&
    groups.every((group, index) =>
      group === 'month' || group === 'day' ? isDay(values[index]) : isText(values[index]),
    );
  if (!isPosition) throw invalidCursor();
  return values as (string | number)[];
}

/** Reports whether a value is a day label. PostgreSQL rejects a statement whose value does not fit the column. */
function isDay(value: unknown): boolean {
  return Number.isSafeInteger(value) && Math.abs(value as number) <= 99_991_231;
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && !value.includes('\0');
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

function usageRow(raw: RawRow, groups: readonly UsageGroup[]): UsageRow {
  const { requests, cost } = raw;
  const fields = groups.map((group) => {
    const value = raw[USAGE_GROUPS[group]] ?? '';
    if (group === 'month' || group === 'day') return [group, dateOf(Number(value))];
    return [group === 'api_key' ? 'api_key_id' : group, value === '' ? null : value];
  });
  return { ...(Object.fromEntries(fields) as Partial<UsageRow>), requests, cost };
}
