/** Limits the number of log rows per day, and allows a burst after a pause. */

const DAY_SECONDS = 86_400;
/** Share of the daily rows that may be written in a burst. The rest refills evenly, so that every hour has rows. */
const BURST_SHARE = 0.1;

/** RowBudget is a token bucket of rows. The budget allows at most `rowsPerDay` rows in any 24 hours. */
export class RowBudget {
  /** Rows that could be written at `filledAtMs`; negative after too many rows. */
  private rows: number;
  private filledAtMs: number;
  private readonly capacity: number;
  private readonly perSecond: number;

  /** @param nowMs current time of a monotonic clock in milliseconds, as in all methods. */
  constructor(rowsPerDay: number, nowMs: number) {
    this.capacity = rowsPerDay * BURST_SHARE;
    this.perSecond = RowBudget.perSecond(rowsPerDay);
    this.rows = this.capacity;
    this.filledAtMs = nowMs;
  }

  /** Returns the number of rows by which a daily budget refills per second. */
  static perSecond(rowsPerDay: number): number {
    return (rowsPerDay * (1 - BURST_SHARE)) / DAY_SECONDS;
  }

  /** Returns the number of rows that may be written now. */
  available(nowMs: number): number {
    const seconds = Math.max(0, nowMs - this.filledAtMs) / 1_000;
    this.rows = Math.min(this.capacity, this.rows + seconds * this.perSecond);
    this.filledAtMs = nowMs;
    return Math.floor(this.rows);
  }

  /** Subtracts written rows. The budget can become negative, which delays later rows. */
  consume(rows: number): void {
    this.rows -= rows;
  }

  /** Reports whether the budget is full. The caller can then drop the budget, because a new budget is also full. */
  isFull(nowMs: number): boolean {
    return this.available(nowMs) >= Math.floor(this.capacity);
  }
}
