/**
 * Brings the log to the database behind each flush of usage, which comes first: a log that cannot be written costs no
 * count. What could not be written is kept and sent again as it was; what ends meanwhile gathers in the recorder, which
 * is bounded. So much is written and no more, of each account and over all of them.
 */
import type { Logger } from '../platform/log.js';
import { METRICS } from '../platform/metrics.js';
import { Pace } from '../platform/pace.js';
import { RowBudget } from './budget.js';
import type { RequestLogRecorder } from './recorder.js';
import type { RequestLogRow } from './request-log-row.js';
import type { RequestLogWriter } from './request-log-writer.js';

/** A statement ends with the account that fills it: bounds how long the event loop is busy with putting it together. */
const ROWS_PER_STATEMENT = 200;
/** Rows that this process writes: each takes some 25 µs of CPU, most of them SQLite's. */
const ROWS_PER_SECOND = 250;
const ROWS_PER_DAY = 2_000_000;
const ROWS_PER_ACCOUNT_AND_DAY = 200_000;
/** What may be written after a pause, however long it was. */
const LONGEST_SPAN_SECONDS = 5;

/** RequestLogFlush writes what the recorder has. */
export class RequestLogFlush {
  private batch: RequestLogRow[] = [];
  private readonly budget: RowBudget;
  /** Of accounts that have written so much lately that it matters. */
  private readonly budgets = new Map<string, RowBudget>();
  private flushedAtMs: number;
  private fewRows = 0;
  private pace = new Pace(0);
  private readonly rowsWritten = METRICS.requestLogRows.series();

  /** @param monotonicMs a clock that nobody sets. */
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

  /** Writes what waits, spread over the span. Never rejects: what could not be written waits for the next time. */
  async flush(spanMs: number): Promise<void> {
    this.pace = new Pace(spanMs);
    try {
      await this.send();
      if (this.recorder.accountsWaiting > 0) await this.write();
      else this.recorder.turn();
    } catch (error) {
      METRICS.requestLogFlushes.series('failed').inc();
      this.log.error(
        { event: 'request_log_flush_failed', rows: this.recorder.length + this.batch.length, err: error },
        'Request logs could not be written',
      );
    }
  }

  /** No more pauses: somebody wants the rest now. */
  hurry(): void {
    this.pace.hurry();
  }

  private async write(): Promise<void> {
    const nowMs = this.monotonicMs();
    let left = this.allowance(nowMs);
    this.recorder.shrink(left);
    // What comes from now on is for the next time.
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
    this.recorder.turn();
    METRICS.requestLogFlushes.series('written').inc();
  }

  private allowance(nowMs: number): number {
    const seconds = Math.min(LONGEST_SPAN_SECONDS, Math.max(0, nowMs - this.flushedAtMs) / 1_000);
    this.flushedAtMs = nowMs;
    this.fewRows = Math.floor(seconds * RowBudget.perSecond(ROWS_PER_ACCOUNT_AND_DAY));
    return Math.max(1, Math.min(this.budget.left(nowMs), Math.floor(seconds * ROWS_PER_SECOND)));
  }

  private takeAccount(nowMs: number): void {
    const before = this.batch.length;
    let ofWhom = '';
    this.recorder.takeFirst((accountId) => {
      ofWhom = accountId;
      return this.budgets.get(accountId)?.left(nowMs) ?? ROWS_PER_ACCOUNT_AND_DAY;
    }, this.batch);
    this.charge(ofWhom, this.batch.length - before, nowMs);
  }

  private charge(accountId: string, rows: number, nowMs: number): void {
    this.budget.take(rows);
    let budget = this.budgets.get(accountId);
    if (budget === undefined) {
      // Most accounts write less than a budget fills up by meanwhile: nobody has to remember them.
      if (rows <= this.fewRows) return;
      this.budgets.set(accountId, (budget = new RowBudget(ROWS_PER_ACCOUNT_AND_DAY, nowMs)));
    }
    budget.take(rows);
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
