/**
 * Finds usage that counters contain but no process recorded, because a process died before it recorded the usage. The
 * missing usage is the counter minus the records. A correction adds only the difference to earlier corrections, under a
 * row lock, so repeated and concurrent corrections are harmless.
 */
import { sql, type Kysely, type RawBuilder, type Transaction } from 'kysely';
import type { DatabaseHandle } from '../../stores/database/connect.js';
import { jsonRows, type JsonColumn } from '../../stores/database/json-rows.js';
import type { Tables } from '../../stores/database/schema.js';
import { calendarOf, lastDayOf } from '../model/month-period.js';
import { UNRECORDED } from '../model/usage-cell.js';
import type { CounterRow } from './usage-table.js';

const ROWS_PER_PAGE = 500;

const COLUMNS: readonly JsonColumn[] = [
  { name: 'account_id', type: 'text' },
  { name: 'api_key_id', type: 'text' },
  { name: 'period', type: 'bigint' },
];

/** CounterName identifies a counter in the database. */
export interface CounterName {
  readonly accountId: string;
  /** Empty for the account's own counter. */
  readonly keyId: string;
  readonly month: number;
}

interface Sums {
  readonly account_id: string;
  readonly api_key_id: string;
  readonly period: number;
  readonly recorded: number;
  /** The part of `recorded` that an earlier correction has added. */
  readonly derived: number;
  readonly set_at: number;
  readonly time_zone: string;
  readonly billing_day: number;
}

/** Returns the counters that were written to the database since an instant, ordered by account. */
export async function countersSince(db: Kysely<Tables>, sinceMs: number): Promise<CounterName[]> {
  const rows = await db
    .selectFrom('quota_counter')
    .select(['account_id', 'api_key_id', 'period'])
    .where('updated_at', '>=', sinceMs)
    .orderBy('account_id')
    .execute();
  return rows.map((row) => ({ accountId: row.account_id, keyId: row.api_key_id, month: row.period }));
}

/**
 * Returns the counts of keys that differ from their records. Call it only when every process has written the usage that
 * it knew when the counts were read. An account's count is not compared, because it is the sum of its keys' counts.
 */
export async function countersThatDiffer(
  db: Kysely<Tables>,
  kind: DatabaseHandle['kind'],
  counts: readonly CounterRow[],
): Promise<CounterRow[]> {
  const ofKeys = counts.filter(({ keyId }) => keyId !== '');
  const differing: CounterRow[] = [];
  for (let at = 0; at < ofKeys.length; at += ROWS_PER_PAGE) {
    const page = ofKeys.slice(at, at + ROWS_PER_PAGE);
    const sums = new Map((await sumsOf(db, kind, page)).map((row) => [nameOf(row), row]));
    for (const count of page) {
      const row = sums.get(`${count.accountId}/${count.keyId}/${count.month}`);
      if (row !== undefined && unrecordedCost(count, row) !== row.derived) differing.push(count);
    }
  }
  return differing;
}

/**
 * Writes the usage that no record contains. Call it under the same condition as `countersThatDiffer`. Resolves to the
 * number of corrected counts.
 */
export async function writeUnrecorded(
  db: Kysely<Tables>,
  kind: DatabaseHandle['kind'],
  counts: readonly CounterRow[],
  nowMs: number,
): Promise<number> {
  const differing = await countersThatDiffer(db, kind, counts);
  for (const count of differing) await db.transaction().execute((trx) => correct(trx, kind, count, nowMs));
  return differing.length;
}

/**
 * Writes the missing usage of one counter (`unrecorded`). Locks the counter's row and reads the sums again, because
 * another worker may be writing the same correction.
 */
async function correct(
  trx: Transaction<Tables>,
  kind: DatabaseHandle['kind'],
  count: CounterRow,
  nowMs: number,
): Promise<void> {
  await trx
    .selectFrom('quota_counter')
    .select('used')
    .where('account_id', '=', count.accountId)
    .where('api_key_id', '=', count.keyId)
    .where('period', '=', count.month)
    .$if(kind === 'postgres', (select) => select.forUpdate())
    .execute();
  const [row] = await sumsOf(trx, kind, [count]);
  if (row === undefined) return;
  const cost = unrecordedCost(count, row) - row.derived;
  if (cost === 0) return;
  // Use a day of the counter's month. A later day would appear in the next month, and a row of an earlier day would not
  // be found again.
  const today = calendarOf(row.time_zone, 1).dayAt(nowMs).label;
  const day = Math.max(count.month, Math.min(today, lastDayOf(count.month, row.billing_day)));
  await sql`
    insert into usage_daily (account_id, day, api_key_id, operation, period, outcome, requests, cost, updated_at)
    values (${count.accountId}, ${day}, ${count.keyId}, '', ${count.month}, ${UNRECORDED}, 0,
      cast(${cost} as bigint), cast(${nowMs} as bigint))
    on conflict (account_id, day, api_key_id, operation, period, outcome) do update set
      cost = usage_daily.cost + excluded.cost, updated_at = excluded.updated_at
  `.execute(trx);
}

/**
 * Returns the usage that no record contains. If an operator set the count after the count was read, returns the cost of
 * the earlier correction, so that nothing changes.
 */
function unrecordedCost(count: CounterRow, row: Sums): number {
  if (row.set_at >= count.observedAtMs) return row.derived;
  return Math.max(0, count.used - (row.recorded - row.derived));
}

/**
 * Returns the SQL that sums the records of counters. After an account's billing day was moved back, the counter keeps
 * its label, while the calendar has an earlier label. Usage that was recorded under the earlier label belongs to the
 * counter too.
 */
export function sumsQuery(kind: DatabaseHandle['kind'], counters: readonly CounterName[]): RawBuilder<Sums> {
  const names = counters.map(({ accountId, keyId, month }) => [accountId, keyId, month]);
  // Filter inside the union. Otherwise SQLite would read all usage for every page, because it does not push the outer
  // condition into the union.
  const accounts = sql.join([...new Set(counters.map(({ accountId }) => accountId))]);
  const since = Math.min(...counters.map(({ month }) => month));
  const ofThese = sql`account_id in (${accounts}) and day >= ${since}`;
  return sql<Sums>`
    select name.account_id, name.api_key_id, name.period, account.time_zone, account.billing_day,
      counter.set_at,
      cast(coalesce(sum(usage.cost), 0) as bigint) as recorded,
      cast(coalesce(sum(case when usage.period = name.period and usage.operation = ''
        and usage.outcome = ${UNRECORDED} then usage.cost else 0 end), 0)
        as bigint) as derived
    from ${jsonRows(kind, COLUMNS, names, 'name')}
    join account on account.id = name.account_id
    join quota_counter as counter on counter.account_id = name.account_id
      and counter.api_key_id = name.api_key_id and counter.period = name.period
    left join (
      select account_id, api_key_id, period, day, operation, outcome, cost from usage_daily where ${ofThese}
      union all
      select account_id, api_key_id, period, day, operation, '', cost from usage_in_flight where ${ofThese}
    ) as usage on usage.account_id = name.account_id and usage.api_key_id = name.api_key_id
      and usage.period <= name.period and usage.day >= name.period
    group by name.account_id, name.api_key_id, name.period, account.time_zone, account.billing_day, counter.set_at
  `;
}

async function sumsOf(
  db: Kysely<Tables>,
  kind: DatabaseHandle['kind'],
  counters: readonly CounterName[],
): Promise<Sums[]> {
  return (await sumsQuery(kind, counters).execute(db)).rows;
}

function nameOf({ account_id: accountId, api_key_id: keyId, period }: Sums): string {
  return `${accountId}/${keyId}/${period}`;
}
