/** Adjustments as they were made, and the list of those of all accounts. */
import type { Kysely } from 'kysely';
import { decodeCursor, pageOf, type Page, type PageRequest } from '../stores/database/cursor.js';
import type { QuotaAdjustmentTable, Tables } from '../stores/database/schema.js';

const LIST = 'all-quota-adjustments';

/** One adjustment, as it was made; there is no way to change it but to make another. */
export interface QuotaAdjustment {
  readonly id: string;
  readonly accountId: string;
  /** Null: of the account's own month. */
  readonly apiKeyId: string | null;
  readonly type: 'grant' | 'set' | 'reset';
  /** Null for `reset`. */
  readonly amount: number | null;
  readonly reason: string;
  readonly actor: string;
  /** The end of the month that it was made for, ms. */
  readonly periodEndsAt: number;
  readonly createdAt: number;
  /** Of the account, for times. */
  readonly timeZone: string;
}

/** An adjustment with the name of whose it is. */
export interface NamedAdjustment extends QuotaAdjustment {
  readonly accountName: string;
}

/** A page of them, newest first. Rejects with `invalid_cursor`, or as the database does. */
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

/** An adjustment out of its row. @param timeZone of the account. */
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
