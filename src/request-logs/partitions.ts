/** The log on PostgreSQL has a partition for each day: what is old goes with its table, in no time. */
import { sql, type Kysely } from 'kysely';
import type { Tables } from '../stores/database/schema.js';

const TABLE = 'request_log';
const NAME = /^request_log_(\d{8})$/;
/** Whoever makes or drops one waits for nobody who reads or writes, longer than this. */
const LOCK_TIMEOUT_MS = 1_000;
/** One process at a time: any number of them notice that a day has none. */
const LOCK_NUMBER = 7_236_441_102;

/** Error class of PostgreSQL for a row that has no partition (23514, check_violation). */
const NO_PARTITION = '23514';

/** Whether a row was refused because its day has no partition. */
export function lacksPartition(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === NO_PARTITION;
}

/** Makes the partitions of these days that are not there yet. Rejects as the database does. */
export async function makePartitions(db: Kysely<Tables>, days: readonly number[]): Promise<void> {
  const there = new Set(await partitionDays(db));
  const missing = [...new Set(days)].filter((day) => !there.has(day));
  for (const day of missing) {
    await alone(db, (trx) =>
      sql`
        create table if not exists ${sql.ref(nameOf(day))} partition of ${sql.ref(TABLE)}
        for values from (${sql.lit(day)}) to (${sql.lit(day + 1)})
      `.execute(trx),
    );
  }
}

/** Drops the partitions of days before this one. @returns how many. */
export async function dropPartitionsBefore(db: Kysely<Tables>, day: number): Promise<number> {
  const old = (await partitionDays(db)).filter((each) => each < day);
  for (const each of old) {
    await alone(db, (trx) => sql`drop table if exists ${sql.ref(nameOf(each))}`.execute(trx));
  }
  return old.length;
}

/** The days that have a partition, in their order. */
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

/** Both take a lock on the whole table: whoever cannot have it soon tries again later. */
async function alone(db: Kysely<Tables>, change: (trx: Kysely<Tables>) => Promise<unknown>): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await sql`set local lock_timeout = ${sql.lit(`${LOCK_TIMEOUT_MS}ms`)}`.execute(trx);
    await sql`select pg_advisory_xact_lock(${sql.lit(LOCK_NUMBER)})`.execute(trx);
    await change(trx);
  });
}
