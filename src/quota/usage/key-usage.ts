/** What one key was used for, by operation, over the last days: for whoever is about to change or end it. */
import { sql, type Kysely } from 'kysely';
import type { Tables } from '../../stores/database/schema.js';
import { ADJUSTED, SHADOW_REFUSED_NAME } from '../model/usage-cell.js';

/** Outcomes of requests that no backend was to see: they do not stop when the key does. */
const REFUSED = ['rate_limited', 'quota_exceeded', 'denied'] as const;
const NOT_REQUESTS = [SHADOW_REFUSED_NAME, ADJUSTED];
/** There are as many as the key has operations; one that asks for more is not looked at in full. */
export const MOST_OPERATIONS = 2_000;

/** Requests of a key to one operation. */
export interface OperationUse {
  readonly operation: string;
  /** Those of the recent days that were let in. */
  readonly recent: number;
  /** Those of all days that were asked about, refused ones too. */
  readonly asked: number;
}

/**
 * What the key asked for on these days, most of the recent ones first. One statement that seeks each day by the table's
 * own order.
 * @param days labels, 20261120.
 * @param recentFrom the first of them that is recent.
 */
export async function usesOfKey(
  db: Kysely<Tables>,
  { accountId, keyId }: { readonly accountId: string; readonly keyId: string },
  days: readonly number[],
  recentFrom: number,
): Promise<OperationUse[]> {
  const own = sql`account_id = ${accountId} and api_key_id = ${keyId} and day in (${sql.join(days)})`;
  const { rows } = await sql<OperationUse>`
    select operation,
      cast(sum(case when day >= ${recentFrom} and outcome not in (${sql.join(REFUSED)}) then requests else 0 end)
        as bigint) as recent,
      cast(sum(requests) as bigint) as asked
    from (
      select day, operation, outcome, requests from usage_daily
      where ${own} and outcome not in (${sql.join(NOT_REQUESTS)})
      union all
      select day, operation, 'in_flight', requests from usage_in_flight where ${own}
    ) as usage
    where operation <> ''
    group by operation
    having sum(requests) > 0
    order by recent desc, operation
    limit ${MOST_OPERATIONS}
  `.execute(db);
  return rows;
}
