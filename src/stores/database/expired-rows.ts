/** Deletes expired rows in small batches, so that other statements do not wait long. */
import { sql, type Kysely } from 'kysely';
import type { Tables } from './schema.js';
import { neverStopped, type IsStopped } from '../../platform/repeated-run.js';

const BATCH_SIZE = 1_000;

/** ExpiringTable names a table whose rows expire. `key` is the column by which rows are deleted. */
export interface ExpiringTable {
  readonly table: keyof Tables;
  readonly key: string;
  /** Column with the expiry time, in milliseconds since the epoch. */
  readonly until: string;
}

/**
 * Deletes the rows that have expired.
 * @param at current time, in milliseconds since the epoch
 * @param isStopped called between batches. If it returns true, the remaining rows are kept.
 * @returns the number of deleted rows. Rejects with the database's error.
 */
export async function deleteExpiredRows(
  db: Kysely<Tables>,
  { table, key, until }: ExpiringTable,
  at: number,
  isStopped: IsStopped = neverStopped,
): Promise<number> {
  const isExpired = sql`${sql.ref(until)} <= ${at}`;
  const batch = sql`select ${sql.ref(key)} from ${sql.table(table)} where ${isExpired} limit ${sql.lit(BATCH_SIZE)}`;
  // The statement checks the expiry again, so that it does not delete rows that were renewed in the meantime.
  const statement = sql`delete from ${sql.table(table)} where ${sql.ref(key)} in (${batch}) and ${isExpired}`;
  let deleted = 0;
  for (let count = BATCH_SIZE; count === BATCH_SIZE && !isStopped(); deleted += count) {
    count = Number((await statement.execute(db)).numAffectedRows ?? 0n);
  }
  return deleted;
}
