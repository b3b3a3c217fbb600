/**
 * Records adjustments. When an operator sets a month's count, the adjustment is the difference to the old count. It is
 * usage without requests.
 */
import { sql, type Transaction } from 'kysely';
import type { Tables } from '../../stores/database/schema.js';
import { ADJUSTED } from '../model/usage-cell.js';
import { ADD_USAGE } from './usage-table.js';

/** AdjustedCount identifies a month count that an operator has set. */
export interface AdjustedCount {
  readonly accountId: string;
  /** Undefined for the account's own count. */
  readonly keyId: string | undefined;
  /** Labels of the month, and of the day of the change. */
  readonly month: number;
  readonly day: number;
}

/**
 * Records the adjustment of a month's count in a transaction, so that the usage rows still add up to the count. Setting
 * a key's count leaves its account's count unchanged, so the account gets the opposite difference.
 * @param cost the new count minus the old one.
 */
export async function addAdjustment(
  trx: Transaction<Tables>,
  { accountId, keyId, month, day }: AdjustedCount,
  cost: number,
  nowMs: number,
): Promise<void> {
  const changes = keyId === undefined ? [['', cost] as const] : [['', -cost] as const, [keyId, cost] as const];
  for (const [apiKeyId, change] of changes) {
    if (change === 0) continue;
    await sql`
      insert into usage_daily (account_id, day, api_key_id, operation, period, outcome, requests, cost, updated_at)
      values (${accountId}, ${day}, ${apiKeyId}, '', ${month}, ${ADJUSTED}, 0, cast(${change} as bigint),
        cast(${nowMs} as bigint))
      ${ADD_USAGE}
    `.execute(trx);
  }
}
