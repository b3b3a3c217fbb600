/** Usage of one key by operation over the last days, shown before the key is changed or ended. */
import { sql, type Kysely } from 'kysely';
import type { Tables } from '../../stores/database/schema.js';
import { ADJUSTED, SHADOW_REFUSED_NAME } from '../model/usage-cell.js';

/** Outcomes of requests that never reach a backend. Changing the key does not stop them. */
const REFUSED = ['rate_limited', 'quota_exceeded', 'denied'] as const;
const NOT_REQUESTS = [SHADOW_REFUSED_NAME, ADJUSTED];
/** Maximum number of operations returned. A key that requests more operations is reported incompletely. */
export const MOST_OPERATIONS = 2_000;

/** OperationUse is the number of requests of a key to one operation. */
export interface OperationUse {
  readonly operation: string;
  /** Admitted requests of the recent days. */
  readonly recent: number;
  /** All requests of all given days, including refused ones. */
  readonly asked: number;
}

/**
 * Returns the operations that the key requested on these days, the most used recently first. A single statement reads
 * each day in the table's order.
 * @param days labels, such as 20261120.
 * @param recentFrom the first day that counts as recent.
 */
export async function readKeyUsage(
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
