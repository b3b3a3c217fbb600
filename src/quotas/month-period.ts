/** The calendar month that a request counts in. */

/** One period of the monthly windows. */
export interface MonthPeriod {
  /** Year and month as a number, 202611: what counters are labelled with. Grows with time. */
  readonly label: number;
  readonly startMs: number;
  /** The first instant that is no longer in it: when the month's limits reset. */
  readonly endMs: number;
}

/** The calendar month in UTC that holds an instant. */
export function monthPeriodAt(nowMs: number): MonthPeriod {
  const date = new Date(nowMs);
  const year = date.getUTCFullYear();
  const month = date.getUTCMonth();
  return { label: year * 100 + month + 1, startMs: Date.UTC(year, month, 1), endMs: Date.UTC(year, month + 1, 1) };
}

/** Remembers the current period, so that a request costs two comparisons instead of a date. */
export class CurrentMonth {
  private period: MonthPeriod = { label: 0, startMs: 0, endMs: 0 };

  at(nowMs: number): MonthPeriod {
    if (nowMs >= this.period.endMs || nowMs < this.period.startMs) this.period = monthPeriodAt(nowMs);
    return this.period;
  }
}
