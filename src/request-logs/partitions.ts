/**
 * Creates and drops the partitions of the request log on PostgreSQL. Each day has its own partition, so old rows are
 * deleted quickly.
 */
import { sql, type Kysely } from 'kysely';
import type { Tables } from '../stores/database/schema.js';

const TABLE = 'request_log';
const NAME = /^request_log_(\d{8})$/;
/** Maximum time that a change of partitions waits for a lock. A waiting change blocks readers and writers. */
const LOCK_TIMEOUT_MS = 1_000;
/** Key of the advisory lock that lets only one process at a time change partitions. */
const LOCK_NUMBER = 7_236_441_102;

/** SQLSTATE (check_violation) for a row whose day has no partition. */
const NO_PARTITION = '23514';

/** Reports whether a row was rejected because its day has no partition. */
export function lacksPartition(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === NO_PARTITION;
}

/** Creates missing partitions for these days. Rejects with the database's error. */
export async function makePartitions(db: Kysely<Tables>, days: readonly number[]): Promise<void> {
  const existing = new Set(await partitionDays(db));
  const missing = [...new Set(days)].filter((day) => !existing.has(day));
  for (const day of missing) {
    await withLock(db, (trx) =>
      sql`
        create table if not exists ${sql.ref(nameOf(day))} partition of ${sql.ref(TABLE)}
        for values from (${sql.lit(day)}) to (${sql.lit(day + 1)})
      `.execute(trx),
    );
  }
}

/**
 * Drops the partitions of all days before `day`. Rejects with the database's error.
 * @returns the number of dropped partitions.
 */
export async function dropPartitionsBefore(db: Kysely<Tables>, day: number): Promise<number> {
  const old = (await partitionDays(db)).filter((each) => each < day);
  for (const each of old) {
    await withLock(db, (trx) => sql`drop table if exists ${sql.ref(nameOf(each))}`.execute(trx));
  }
  return old.length;
}

/** Returns the days that have a partition, in ascending order. */
export async function partitionDays(db: Kysely<Tables>): Promise<number[]> {
  const { rows } = await sql<{ name: string }>`
    select child.relname as name from pg_inherits
    join pg_class as child on child.oid = pg_inherits.inhrelid
    where pg_inherits.inhparent = ${TABLE}::regclass
    order by child.relname
  `.execute(db);
  return rows.flatMap(({ name }) => {
    const day = NAME.exec(name)?.[1];
    return day === undefined ? [] : [Number(day)];
  });
}

function nameOf(day: number): string {
  return `${TABLE}_${day}`;
}

/** Runs a change while no other process changes partitions. Rejects if a lock is not free within the timeout. */
async function withLock(db: Kysely<Tables>, change: (trx: Kysely<Tables>) => Promise<unknown>): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await sql`set local lock_timeout = ${sql.lit(`${LOCK_TIMEOUT_MS}ms`)}`.execute(trx);
    await sql`select pg_advisory_xact_lock(${sql.lit(LOCK_NUMBER)})`.execute(trx);
    await change(trx);
  });
}
