/**
 * Month counts in the database: what a restart or an emptied Redis starts again from. Counts are written in batches, off
 * the request path; between two flushes at most one interval's worth waits in memory.
 */
import { sql, type Kysely } from 'kysely';
import type { Clock } from '../clock.js';
import type { Tables } from '../database/schema.js';
import type { Logger } from '../log.js';
import { METRICS } from '../metrics.js';
import type { MonthCount, MonthSource } from './counter-store.js';
import { MonthNotices, noticesDue, type MonthNotice } from './month-notices.js';
import type { MonthPeriod } from './month-period.js';
import { ACCOUNT_MONTH, KEY_MONTH, type QuotaDecision, type QuotaSubject } from './policies.js';

const ROWS_PER_STATEMENT = 500;

/** A month count that waits to be written. */
interface Row {
  account_id: string;
  api_key_id: string;
  /** Label of the month. */
  period: number;
  used: number;
  updated_at: number;
}

/** Counts of this process's own counters; undefined where they have none. */
export type ExactCounts = (subject: QuotaSubject) => { account: MonthCount; key: MonthCount } | undefined;

export class MonthLedger implements MonthSource {
  private dirty = new Map<QuotaSubject, MonthPeriod>();
  private oldestDirtyMs = 0;
  private flushing: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private readonly notices: MonthNotices;

  constructor(
    private readonly db: Kysely<Tables>,
    private readonly clock: Clock,
    private readonly log: Logger,
    /** Where the counters live in this process; without it, the last that was seen of shared ones has to do. */
    private readonly exact?: ExactCounts,
  ) {
    this.notices = new MonthNotices(clock, log);
    METRICS.usageFlushLag.collect = () =>
      METRICS.usageFlushLag
        .series()
        .set(this.dirty.size === 0 ? 0 : Math.max(0, (this.clock.now() - this.oldestDirtyMs) / 1_000));
  }

  async usedInMonth(
    accountId: string,
    keyId: string | undefined,
    period: MonthPeriod,
  ): Promise<{ account: number; key: number }> {
    const rows = await this.db
      .selectFrom('quota_counter')
      .select(['api_key_id', 'used'])
      .where('account_id', '=', accountId)
      .where('period', '=', period.label)
      .where('api_key_id', 'in', ['', keyId ?? ''])
      .execute();
    return {
      account: rows.find((row) => row.api_key_id === '')?.used ?? 0,
      key: rows.find((row) => row.api_key_id === keyId)?.used ?? 0,
    };
  }

  /** Remembers that a subject's counts have changed. On the request path: one comparison when they already had. */
  note(subject: QuotaSubject, decision: Pick<QuotaDecision, 'period'>): void {
    if (subject.dirtyMonth === decision.period.label) return;
    subject.dirtyMonth = decision.period.label;
    if (this.dirty.size === 0) this.oldestDirtyMs = this.clock.now();
    this.dirty.set(subject, decision.period);
  }

  /**
   * Remembers a refusal by a month's limit: nothing has been counted, but where the limit was lowered below what is used, its notices
   * are due. Once for each subject and month, because a changed limit is another subject.
   */
  noteRefusal(subject: QuotaSubject, decision: Pick<QuotaDecision, 'period' | 'violated'>): void {
    if ((decision.violated & (ACCOUNT_MONTH | KEY_MONTH)) === 0) return;
    if (subject.refusedMonth === decision.period.label) return;
    subject.refusedMonth = decision.period.label;
    this.note(subject, decision);
  }

  /** Flushes every `intervalMs` from now on. */
  start(intervalMs: number): void {
    this.timer = setInterval(() => void this.flush().catch(() => undefined), intervalMs);
    this.timer.unref();
  }

  /** Stops flushing, and writes what is left. Rejects when that fails. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.flushing?.catch(() => undefined);
    await this.flush();
  }

  /** Writes what has changed. One at a time; on failure everything stays noted for the next. */
  flush(): Promise<void> {
    this.flushing ??= this.write().finally(() => (this.flushing = undefined));
    return this.flushing;
  }

  private async write(): Promise<void> {
    if (this.dirty.size === 0) return;
    const batch = this.dirty;
    const oldestMs = this.oldestDirtyMs;
    this.dirty = new Map();
    const { rows, notices } = this.rowsOf(batch);
    try {
      for (let at = 0; at < rows.length; at += ROWS_PER_STATEMENT) {
        await this.upsert(rows.slice(at, at + ROWS_PER_STATEMENT));
      }
      this.notices.written(notices, await this.notices.write(this.db, notices));
      METRICS.usageFlushes.series('written').inc();
    } catch (error) {
      METRICS.usageFlushes.series('failed').inc();
      // What waits is as old as it was, whatever was noted meanwhile.
      this.oldestDirtyMs = oldestMs;
      for (const [subject, period] of batch) {
        if (this.dirty.has(subject)) continue;
        subject.dirtyMonth = period.label;
        this.dirty.set(subject, period);
      }
      this.log.error(
        { event: 'usage_flush_failed', rows: rows.length, err: error },
        'Month counts could not be written',
      );
      throw error;
    }
  }

  /** The rows of a batch; clears the marks first, so that what is counted from here on is noted again. */
  private rowsOf(batch: ReadonlyMap<QuotaSubject, MonthPeriod>): { rows: Row[]; notices: MonthNotice[] } {
    const rows = new Map<string, Row>();
    const notices: MonthNotice[] = [];
    const now = this.clock.now();
    const put = (accountId: string, keyId: string, { month: period, used }: MonthCount): void => {
      const id = `${accountId}/${keyId}/${period}`;
      if (used < (rows.get(id)?.used ?? 0)) return;
      rows.set(id, {
        account_id: accountId,
        api_key_id: keyId,
        period,
        used,
        updated_at: now,
      });
    };
    for (const [subject, noted] of batch) {
      subject.dirtyMonth = 0;
      const counts = this.exact === undefined ? lastSeen(subject, noted) : this.exact(subject);
      if (counts === undefined) continue;
      put(subject.accountId, '', counts.account);
      put(subject.accountId, subject.keyId, counts.key);
      const period = counts.account.month === noted.label ? noted : subject.calendar.at(now);
      notices.push(...noticesDue(subject, period, counts));
    }
    // One order for all nodes: two that write the same rows wait for each other instead of deadlocking.
    const sorted = [...rows.entries()].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
    return { rows: sorted, notices };
  }

  /** Of several nodes, the one that saw most is right. A process with counters of its own knows, also what was given back. */
  private async upsert(rows: readonly Row[]): Promise<void> {
    const highest = sql<number>`case when excluded.used > quota_counter.used then excluded.used else quota_counter.used end`;
    await this.db
      .insertInto('quota_counter')
      .values([...rows])
      .onConflict((conflict) =>
        conflict.columns(['account_id', 'api_key_id', 'period']).doUpdateSet({
          used: this.exact === undefined ? highest : sql<number>`excluded.used`,
          updated_at: sql<number>`excluded.updated_at`,
        }),
      )
      .execute();
  }
}

function lastSeen(
  { lastSeen: seen }: QuotaSubject,
  { label: month }: MonthPeriod,
): { account: MonthCount; key: MonthCount } | undefined {
  if (seen === undefined) return undefined;
  return { account: { month, used: seen.accountMonth }, key: { month, used: seen.keyMonth } };
}
