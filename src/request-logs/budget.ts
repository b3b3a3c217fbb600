/** Limits the number of log rows per day, with bursts after a pause. Uses a monotonic clock. */

const DAY_SECONDS = 86_400;
/** Share of the daily rows that may be written in a burst. The rest refills evenly, so that every hour has rows. */
const BURST_SHARE = 0.1;

/** RowBudget is a token bucket of rows. A day never takes more than `rowsPerDay`. */
export class RowBudget {
  private rows: number;
  private filledAtMs: number;
  private readonly capacity: number;
  private readonly perSecond: number;

  /** @param nowMs monotonic time, as in all methods. */
  constructor(rowsPerDay: number, nowMs: number) {
    this.capacity = rowsPerDay * BURST_SHARE;
    this.perSecond = RowBudget.perSecond(rowsPerDay);
    this.rows = this.capacity;
    this.filledAtMs = nowMs;
  }

  /** Returns how many rows per second a daily budget refills. */
  static perSecond(rowsPerDay: number): number {
    return (rowsPerDay * (1 - BURST_SHARE)) / DAY_SECONDS;
  }

  /** Returns how many rows may be written now. */
  available(nowMs: number): number {
    const seconds = Math.max(0, nowMs - this.filledAtMs) / 1_000;
    this.rows = Math.min(this.capacity, this.rows + seconds * this.perSecond);
    this.filledAtMs = nowMs;
    return Math.floor(this.rows);
  }

  consume(rows: number): void {
    this.rows -= rows;
  }

  /** Whether the budget is full, so that it can be dropped and created again. */
  isFull(nowMs: number): boolean {
    return this.available(nowMs) >= Math.floor(this.capacity);
  }
}
