/** Usage that no request made: what an operator added to a month's count, or took from it, by setting it. */
import { sql, type Transaction } from 'kysely';
import type { Tables } from '../../stores/database/schema.js';
import { ADJUSTED } from '../model/usage-cell.js';
import { ADD_USAGE } from './usage-table.js';

/** Whose count was set, and the row that says so. */
export interface AdjustedCount {
  readonly accountId: string;
  /** Undefined: the account's own count. */
  readonly keyId: string | undefined;
  /** Labels of the month, and of the day on which it was done. */
  readonly month: number;
  readonly day: number;
}

/**
 * Notes in a transaction that a month's count was set, so that usage goes on adding up to it. A key's own count leaves
 * its account's as it is.
 * @param cost what the count has more, or less, than before
 */
export async function addAdjustment(
  trx: Transaction<Tables>,
  { accountId, keyId, month, day }: AdjustedCount,
  cost: number,
  nowMs: number,
): Promise<void> {
  const changes = keyId === undefined ? [['', cost] as const] : [['', -cost] as const, [keyId, cost] as const];
  for (const [of, change] of changes) {
    if (change === 0) continue;
    await sql`
      insert into usage_daily (account_id, day, api_key_id, operation, period, outcome, requests, cost, updated_at)
      values (${accountId}, ${day}, ${of}, '', ${month}, ${ADJUSTED}, 0, cast(${change} as bigint),
        cast(${nowMs} as bigint))
      ${ADD_USAGE}
    `.execute(trx);
  }
}
