/** Lists the quota adjustments of all accounts for operators. Also converts adjustment rows for other lists. */
import type { Kysely } from 'kysely';
import { decodeCursor, pageOf, type Page, type PageRequest } from '../stores/database/cursor.js';
import type { QuotaAdjustmentTable, Tables } from '../stores/database/schema.js';

const LIST = 'all-quota-adjustments';

/** QuotaAdjustment is a recorded adjustment, which never changes. */
export interface QuotaAdjustment {
  readonly id: string;
  readonly accountId: string;
  /** Null if the adjustment applies to the whole account. */
  readonly apiKeyId: string | null;
  readonly type: 'grant' | 'set' | 'reset';
  /** Number of requests. Null for `reset`. */
  readonly amount: number | null;
  readonly reason: string;
  readonly actor: string;
  /** End of the adjusted month, in milliseconds since the epoch. */
  readonly periodEndsAt: number;
  readonly createdAt: number;
  /** Time zone of the account. */
  readonly timeZone: string;
}

/** NamedAdjustment is an adjustment with the name of its account. */
export interface NamedAdjustment extends QuotaAdjustment {
  readonly accountName: string;
}

/**
 * Returns a page of the adjustments of all accounts, newest first. Rejects with `invalid_cursor` or the error of the
 * database.
 */
export async function allAdjustments(
  db: Kysely<Tables>,
  { limit, cursor }: PageRequest,
): Promise<Page<NamedAdjustment>> {
  let query = db
    .selectFrom('quota_adjustment')
    .innerJoin('account', 'account.id', 'quota_adjustment.account_id')
    .selectAll('quota_adjustment')
    .select(['account.name as account_name', 'account.time_zone'])
    .orderBy('quota_adjustment.id', 'desc')
    .limit(limit + 1);
  if (cursor !== undefined) query = query.where('quota_adjustment.id', '<', decodeCursor(LIST, cursor));
  return pageOf(LIST, limit, await query.execute(), (row) => ({
    ...adjustmentOf(row, row.time_zone),
    accountName: row.account_name,
  }));
}

/**
 * Converts a row of the table to an adjustment.
 * @param timeZone time zone of the account
 */
export function adjustmentOf(row: QuotaAdjustmentTable, timeZone: string): QuotaAdjustment {
  return {
    id: row.id,
    accountId: row.account_id,
    apiKeyId: row.api_key_id === '' ? null : row.api_key_id,
    type: row.type,
    amount: row.amount,
    reason: row.reason,
    actor: row.actor,
    periodEndsAt: row.period_ends_at,
    createdAt: row.created_at,
    timeZone,
  };
}
