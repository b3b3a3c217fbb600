/**
 * Writes the log to the database after each flush of usage, so that a failing log does not affect counts. A failed
 * batch is kept and sent again unchanged. Meanwhile, requests collect in the recorder, which is limited. The number of
 * written rows is limited per account and in total.
 */
import type { Logger } from '../platform/log.js';
import { METRICS } from '../platform/metrics.js';
import { Pace } from '../platform/pace.js';
import { RowBudget } from './budget.js';
import type { RequestLogRecorder } from './recorder.js';
import type { RequestLogRow } from './request-log-row.js';
import type { RequestLogWriter } from './request-log-writer.js';

/** Rows per statement, rounded up to whole accounts. Limits how long the event loop is busy building a statement. */
const ROWS_PER_STATEMENT = 200;
/** Limit of this process. A row takes about 25 µs of CPU, mostly in SQLite. */
const ROWS_PER_SECOND = 250;
const ROWS_PER_DAY = 2_000_000;
const ROWS_PER_ACCOUNT_AND_DAY = 200_000;
/** Maximum pause that counts for the limit per second. */
const LONGEST_SPAN_SECONDS = 5;

export class RequestLogFlush {
  private batch: RequestLogRow[] = [];
  private readonly budget: RowBudget;
  /** Budgets of accounts that have recently written many rows. */
  private readonly budgets = new Map<string, RowBudget>();
  private flushedAtMs: number;
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
    this.budget = new RowBudget(ROWS_PER_DAY, this.flushedAtMs);
  }

  readGauges(): void {
    METRICS.requestLogQueue.series().set(this.recorder.length + this.batch.length);
  }

  /**
   * Writes collected rows, spread over the span. Never rejects: rows that could not be written wait for the next flush.
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

  /** Skips the remaining pauses. */
  hurry(): void {
    this.pace.hurry();
  }

  private async write(): Promise<void> {
    const nowMs = this.monotonicMs();
    let left = this.allowance(nowMs);
    this.recorder.shrink(left);
    // Requests that end from now on wait for the next flush.
    const accounts = this.recorder.accountsWaiting;
    for (let taken = 0; taken < accounts && left > 0;) {
      while (taken < accounts && this.batch.length < Math.min(ROWS_PER_STATEMENT, left)) {
        this.takeAccount(nowMs);
        taken += 1;
      }
      left -= this.batch.length;
      await this.send();
      await this.pace.reach(taken / accounts);
    }
    this.recorder.endWrite();
    METRICS.requestLogFlushes.series('written').inc();
  }

  private allowance(nowMs: number): number {
    const seconds = Math.min(LONGEST_SPAN_SECONDS, Math.max(0, nowMs - this.flushedAtMs) / 1_000);
    this.flushedAtMs = nowMs;
    this.refilledRows = Math.floor(seconds * RowBudget.perSecond(ROWS_PER_ACCOUNT_AND_DAY));
    return Math.max(1, Math.min(this.budget.available(nowMs), Math.floor(seconds * ROWS_PER_SECOND)));
  }

  private takeAccount(nowMs: number): void {
    const before = this.batch.length;
    let takenId = '';
    this.recorder.takeFirst((accountId) => {
      takenId = accountId;
      return this.budgets.get(accountId)?.available(nowMs) ?? ROWS_PER_ACCOUNT_AND_DAY;
    }, this.batch);
    this.charge(takenId, this.batch.length - before, nowMs);
  }

  private charge(accountId: string, rows: number, nowMs: number): void {
    this.budget.consume(rows);
    let budget = this.budgets.get(accountId);
    if (budget === undefined) {
      // The budget of most accounts refills faster than they write, so it need not be kept.
      if (rows <= this.refilledRows) return;
      this.budgets.set(accountId, (budget = new RowBudget(ROWS_PER_ACCOUNT_AND_DAY, nowMs)));
    }
    budget.consume(rows);
    if (budget.isFull(nowMs)) this.budgets.delete(accountId);
  }

  private async send(): Promise<void> {
    if (this.batch.length === 0) return;
    const rows = this.batch;
    await this.writer.write(rows);
    this.batch = [];
    this.rowsWritten.inc(rows.length);
  }
}
