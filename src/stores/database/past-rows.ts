/** Forgets rows whose time is over, a thousand at a time: nobody waits for more of them than that takes. */
import { sql, type Kysely } from 'kysely';
import type { Tables } from './schema.js';
import { neverStopped, type IsStopped } from '../../platform/repeated-run.js';

const ROWS_AT_ONCE = 1_000;

/** PastRows says which rows of a table are over. */
export interface PastRows {
  readonly table: keyof Tables;
  /** The column by which a row is found. */
  readonly key: string;
  /** The column that says when a row is over, ms since the epoch. */
  readonly until: string;
}

/** Forgets the rows that were over at a time, ms since the epoch; resolves with how many. Rejects with the database. */
export async function forgetPastRows(
  db: Kysely<Tables>,
  { table, key, until }: PastRows,
  at: number,
  isStopped: IsStopped = neverStopped,
): Promise<number> {
  const isOver = sql`${sql.ref(until)} <= ${at}`;
  const some = sql`select ${sql.ref(key)} from ${sql.table(table)} where ${isOver} limit ${sql.lit(ROWS_AT_ONCE)}`;
  // Asked once more: what was renewed in this moment stays.
  const forget = sql`delete from ${sql.table(table)} where ${sql.ref(key)} in (${some}) and ${isOver}`;
  let forgotten = 0;
  for (let count = ROWS_AT_ONCE; count === ROWS_AT_ONCE && !isStopped(); forgotten += count) {
    count = Number((await forget.execute(db)).numAffectedRows ?? 0n);
  }
  return forgotten;
}
