/** How many rows may be written: so many a day, and after a pause some at once. By a clock that nobody sets. */

const DAY_SECONDS = 86_400;
/** What of a day's rows may be written at once; the rest is handed out evenly, so that no hour is left bare. */
const AT_ONCE = 0.1;

/** RowBudget is a bucket of rows that fills with time. A day never takes more than `rowsPerDay` out of it. */
export class RowBudget {
  private rows: number;
  private filledAtMs: number;
  private readonly most: number;
  private readonly perSecond: number;

  /** @param nowMs monotonic, as are all of its times. */
  constructor(rowsPerDay: number, nowMs: number) {
    this.most = rowsPerDay * AT_ONCE;
    this.perSecond = RowBudget.perSecond(rowsPerDay);
    this.rows = this.most;
    this.filledAtMs = nowMs;
  }

  /** How many rows a budget of so many a day gets back in a second. */
  static perSecond(rowsPerDay: number): number {
    return (rowsPerDay * (1 - AT_ONCE)) / DAY_SECONDS;
  }

  /** Rows that may be written now. */
  left(nowMs: number): number {
    const seconds = Math.max(0, nowMs - this.filledAtMs) / 1_000;
    this.rows = Math.min(this.most, this.rows + seconds * this.perSecond);
    this.filledAtMs = nowMs;
    return Math.floor(this.rows);
  }

  /** So many have been written. */
  take(rows: number): void {
    this.rows -= rows;
  }

  /** Whether it says what a new one would say: then nobody has to keep it. */
  isFull(nowMs: number): boolean {
    return this.left(nowMs) >= Math.floor(this.most);
  }
}
