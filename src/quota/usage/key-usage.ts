/**
 * Reads the usage of one key by operation over the last days. The panel shows this usage before a user changes or
 * revokes the key.
 */
import { sql, type Kysely } from 'kysely';
import type { Tables } from '../../stores/database/schema.js';
import { ADJUSTED, SHADOW_REFUSED_NAME } from '../model/usage-cell.js';

/** Outcomes of requests that never reach a backend. Revoking the key does not affect such requests. */
const REFUSED = ['rate_limited', 'quota_exceeded', 'denied'] as const;
const NOT_REQUESTS = [SHADOW_REFUSED_NAME, ADJUSTED];
/** Maximum number of operations returned. If a key requests more operations, the list is incomplete. */
export const MAX_OPERATIONS = 2_000;

/** OperationUse holds the numbers of a key's requests to one operation. */
export interface OperationUse {
  readonly operation: string;
  /** Admitted requests of the recent days. */
  readonly recent: number;
  /** All requests of all given days, including refused ones. */
  readonly asked: number;
}

/**
 * Returns the operations that the key requested on these days, sorted by the number of recent requests, highest first.
 * Returns at most `MAX_OPERATIONS` operations.
 * @param days labels, such as 20261120.
 * @param recentFrom label of the first day that counts as recent.
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
    limit ${MAX_OPERATIONS}
  `.execute(db);
  return rows;
}
