/**
 * Writes the request log to the database after each flush of usage, so that a failing log does not affect usage counts.
 * If a batch cannot be written, the next flush writes the same batch again. Meanwhile, the recorder collects a limited
 * number of requests. The number of written rows is limited per account and in total.
 */
import type { Logger } from '../platform/log.js';
import { METRICS } from '../platform/metrics.js';
import { Pace } from '../platform/pace.js';
import { RowBudget } from './budget.js';
import type { RequestLogRecorder } from './recorder.js';
import type { RequestLogRow } from './request-log-row.js';
import type { RequestLogWriter } from './request-log-writer.js';

/** Rows per statement, rounded up to whole accounts. Limits how long building a statement blocks the event loop. */
const ROWS_PER_STATEMENT = 200;
/** Maximum rows of this process per second. A row takes about 25 µs of CPU time, mostly in SQLite. */
const ROWS_PER_SECOND = 250;
const ROWS_PER_DAY = 2_000_000;
const ROWS_PER_ACCOUNT_AND_DAY = 200_000;
/** Maximum time between two flushes for which the limit per second allows rows. */
const LONGEST_SPAN_SECONDS = 5;

/** RequestLogFlush moves rows from the recorder to the writer. */
export class RequestLogFlush {
  /** Rows that were taken from the recorder and not written yet. */
  private batch: RequestLogRow[] = [];
  private readonly totalBudget: RowBudget;
  /** Budgets of accounts that have recently written many rows. */
  private readonly accountBudgets = new Map<string, RowBudget>();
  private flushedAtMs: number;
  /** Rows by which the budget of an account was refilled since the previous flush. */
  private refilledRows = 0;
  private pace = new Pace(0);
  private readonly rowsWritten = METRICS.requestLogRows.series();

  constructor(
    private readonly recorder: RequestLogRecorder,
    private readonly writer: Pick<RequestLogWriter, 'write'>,
    private readonly log: Pick<Logger, 'error'>,
    private readonly monotonicMs: () => number = () => performance.now(),
  ) {
    this.flushedAtMs = monotonicMs();
    this.totalBudget = new RowBudget(ROWS_PER_DAY, this.flushedAtMs);
  }

  readGauges(): void {
    METRICS.requestLogQueue.series().set(this.recorder.length + this.batch.length);
  }

  /**
   * Writes the collected rows, spread over `spanMs`. Never rejects. Rows that could not be written wait for the next
   * flush.
   */
  async flush(spanMs: number): Promise<void> {
    this.pace = new Pace(spanMs);
    try {
      await this.send();
      if (this.recorder.accountsWaiting > 0) await this.write();
      else this.recorder.endWrite();
    } catch (error) {
      METRICS.requestLogFlushes.series('failed').inc();
      this.log.error(
        { event: 'request_log_flush_failed', rows: this.recorder.length + this.batch.length, err: error },
        'Request logs could not be written',
      );
    }
  }

  /** Skips the remaining pauses of the current flush. */
  hurry(): void {
    this.pace.skipPauses();
  }

  private async write(): Promise<void> {
    const nowMs = this.monotonicMs();
    let left = this.allowance(nowMs);
    this.recorder.dropRowsAbove(left);
    // Accounts that get their first request from now on wait for the next flush.
    const accounts = this.recorder.accountsWaiting;
    for (let taken = 0; taken < accounts && left > 0;) {
      while (taken < accounts && this.batch.length < Math.min(ROWS_PER_STATEMENT, left)) {
        this.takeAccount(nowMs);
        taken += 1;
      }
      left -= this.batch.length;
      await this.send();
      await this.pace.waitUntilShare(taken / accounts);
    }
    this.recorder.endWrite();
    METRICS.requestLogFlushes.series('written').inc();
  }

  /** Returns the maximum number of rows for this flush; at least 1. */
  private allowance(nowMs: number): number {
    const seconds = Math.min(LONGEST_SPAN_SECONDS, Math.max(0, nowMs - this.flushedAtMs) / 1_000);
    this.flushedAtMs = nowMs;
    this.refilledRows = Math.floor(seconds * RowBudget.perSecond(ROWS_PER_ACCOUNT_AND_DAY));
    return Math.max(1, Math.min(this.totalBudget.available(nowMs), Math.floor(seconds * ROWS_PER_SECOND)));
  }

  private takeAccount(nowMs: number): void {
    const before = this.batch.length;
    let takenId = '';
    this.recorder.takeFirst((accountId) => {
      takenId = accountId;
      return this.accountBudgets.get(accountId)?.available(nowMs) ?? ROWS_PER_ACCOUNT_AND_DAY;
    }, this.batch);
    this.charge(takenId, this.batch.length - before, nowMs);
  }

  /** Subtracts the rows of an account from its budget and from the total. */
  private charge(accountId: string, rows: number, nowMs: number): void {
    this.totalBudget.consume(rows);
    let budget = this.accountBudgets.get(accountId);
    if (budget === undefined) {
      // Most accounts write fewer rows than their budget refills, and need no entry.
      if (rows <= this.refilledRows) return;
      this.accountBudgets.set(accountId, (budget = new RowBudget(ROWS_PER_ACCOUNT_AND_DAY, nowMs)));
    }
    budget.consume(rows);
    if (budget.isFull(nowMs)) this.accountBudgets.delete(accountId);
  }

  private async send(): Promise<void> {
    if (this.batch.length === 0) return;
    const rows = this.batch;
    await this.writer.write(rows);
    this.batch = [];
    this.rowsWritten.inc(rows.length);
  }
}
