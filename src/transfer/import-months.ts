/**
 * Imports month counts. A count of the current month is also set in the live counters. Otherwise, the earlier count of
 * a node would replace the imported count.
 */
import type { Limiter } from '../quota/limiter.js';
import type { MonthSet } from '../quota/model/counter-store.js';
import { calendarOf, lastDayOf, NO_PERIOD } from '../quota/model/month-period.js';
import { writeMonthSet } from '../quota/redis/month-set.js';
import { addAdjustment } from '../quota/usage/usage-adjustment.js';
import type { DatabaseHandle } from '../stores/database/connect.js';
import { textList } from '../stores/database/json-rows.js';
import { AccountRows, keysOfAccounts, textsOf } from './import-accounts.js';
import { LineError, parseLine, type ImportBatch, type ImportLine } from './import-batch.js';
import { labelOfMonth, monthCountLine } from './import-fields.js';

/** LiveCounters are the counters of this process. Undefined if they are in the memory of another process. */
export type LiveCounters = Pick<Limiter, 'setMonthUsed'> | undefined;

/**
 * MonthCounts has the counts in the database before a batch (`used`), and the changes of live counters (`sets`). The
 * keys of both maps are the results of `countName`.
 */
export interface MonthCounts {
  readonly used: ReadonlyMap<string, number>;
  readonly sets: ReadonlyMap<string, MonthSet>;
}

interface Count {
  readonly account_id: string;
  readonly api_key_id: string;
  readonly period: number;
}

/**
 * Sets the live counters for the lines of a batch. Must run before the transaction of the batch. A counter that is not
 * in memory is read from the database. On SQLite, such a read would wait for the end of that transaction.
 * @param writes whether existing counts are replaced
 * @returns the existing counts, and the changes of live counters.
 */
export async function setLiveCounts(
  { db, kind }: DatabaseHandle,
  counters: LiveCounters,
  lines: readonly ImportLine[],
  writes: boolean,
  nowMs: number,
): Promise<MonthCounts> {
  const used = new Map<string, number>();
  const sets = new Map<string, MonthSet>();
  const ids = textsOf(lines, 'account_id');
  if (ids.length === 0) return { used, sets };
  const accounts = await db
    .selectFrom('account')
    .select(['id', 'time_zone', 'billing_day'])
    .where('id', 'in', textList(kind, ids))
    .execute();
  const rows = await db
    .selectFrom('quota_counter')
    .select(['account_id', 'api_key_id', 'period', 'used'])
    .where('account_id', 'in', textList(kind, ids))
    .where('api_key_id', 'in', textList(kind, ['', ...textsOf(lines, 'api_key_id')]))
    .execute();
  for (const row of rows) used.set(countName(row), row.used);
  if (counters === undefined) return { used, sets };
  const calendars = new Map(accounts.map((row) => [row.id, calendarOf(row.time_zone, row.billing_day)]));
  const setCount = async ({ fields }: ImportLine): Promise<void> => {
    const { data: line } = monthCountLine.safeParse(fields);
    const calendar = calendars.get(line?.account_id ?? '');
    if (line === undefined || calendar === undefined) return;
    const count = countOf(line);
    if (count.period !== calendar.at(nowMs).label || (used.has(countName(count)) && !writes)) return;
    const keyId = line.api_key_id ?? undefined;
    sets.set(countName(count), await counters.setMonthUsed(line.account_id, keyId, calendar, line.used));
  };
  await Promise.all(lines.map(setCount));
  return { used, sets };
}

/** Imports the lines of type `month_count`, and sets the outcome of each line. Rejects with the database's error. */
export async function importMonths(
  batch: ImportBatch,
  lines: readonly ImportLine[],
  { used, sets }: MonthCounts,
): Promise<void> {
  if (lines.length === 0) return;
  const { trx, nowMs } = batch;
  const accounts = await AccountRows.read(batch, textsOf(lines, 'account_id'), []);
  const keys = await keysOfAccounts(batch, textsOf(lines, 'api_key_id'));
  const written = new Set<string>();
  for (const { index, fields } of lines) {
    await batch.settleAsync(index, async () => {
      const line = parseLine(monthCountLine, fields);
      const account = accounts.ownerOf(line);
      const { id: accountId, time_zone: timeZone, billing_day: billingDay } = account;
      const keyId = line.api_key_id ?? undefined;
      if (keyId !== undefined && keys.get(keyId) !== accountId) throw new LineError(`there is no key ${keyId} in it`);
      const count = countOf(line);
      const name = countName(count);
      if (written.has(name)) throw new LineError('an earlier line has this count');
      const before = used.get(name);
      if (before !== undefined && !batch.shouldUpdateExisting(`${line.month} of ${keyId ?? accountId}`))
        return 'skipped';
      const set = sets.get(name);
      if (set === undefined && before === line.used) return 'skipped';
      written.add(name);
      const row = set ?? {
        period: { ...NO_PERIOD, label: count.period },
        before: before ?? 0,
        used: line.used,
        observedAtMs: nowMs,
      };
      await writeMonthSet(trx, accountId, keyId, row, nowMs);
      const calendar = calendarOf(timeZone, billingDay);
      const isCurrent = calendar.at(nowMs).label === count.period;
      const day = isCurrent ? calendar.dayAt(nowMs).label : lastDayOf(count.period, billingDay);
      await addAdjustment(trx, { accountId, keyId, month: count.period, day }, line.used - row.before, nowMs);
      const target =
        keyId === undefined
          ? ({ targetType: 'account', targetId: accountId, action: 'account.updated' } as const)
          : ({ targetType: 'api_key', targetId: keyId, action: 'api_key.updated' } as const);
      const change = { before: { used: row.before }, after: { used: line.used, month: line.month } };
      batch.changes.push({ accountId, ...target, ...change });
      return before === undefined ? 'imported' : 'updated';
    });
  }
}

function countOf(line: { account_id: string; api_key_id: string | null; month: string }): Count {
  return { account_id: line.account_id, api_key_id: line.api_key_id ?? '', period: labelOfMonth(line.month) };
}

function countName({ account_id: accountId, api_key_id: keyId, period }: Count): string {
  return `${accountId} ${keyId} ${period}`;
}
