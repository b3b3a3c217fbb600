/**
 * The month that a request counts in: a calendar month in the account's time zone, or from its billing day to the next.
 * The calendar is `Temporal`'s, so that 28- to 31-day months, leap years and daylight saving are nobody's arithmetic
 * here.
 */

/** The month that an instant is in, and its day. A day never lies in two months: both begin at midnight of one zone. */
export interface MonthPeriod {
  /**
   * Its first day as a number, 20261101: what counters are labelled with. Grows with time, and stays the same when the
   * account moves to another time zone in mid-month, so that its counts are kept.
   */
  readonly label: number;
  /** Label of the month after it. A counter with that label, or a later one, was labelled by a clock that ran ahead. */
  readonly following: number;
  readonly startMs: number;
  /** The first instant that is no longer in it: when the month's limits reset. */
  readonly endMs: number;
  /** The day of the account's zone: when the day's limits reset, and what its counts are labelled with. */
  readonly day: DayPeriod;
}

/** One day in an account's time zone. */
export interface DayPeriod {
  /** Date as a number, 20261120. */
  readonly label: number;
  readonly startMs: number;
  /** The first instant that is no longer in it. */
  readonly endMs: number;
}

const NO_DAY: DayPeriod = { label: 0, startMs: 0, endMs: 0 };

/** Most months that a counter keeps beside the one that it is in. */
export const OTHER_MONTHS = 2;
/** The same of days. */
export const OTHER_DAYS = 2;

/** Before a month is known. */
export const NO_PERIOD: MonthPeriod = { label: 0, following: 0, startMs: 0, endMs: 0, day: NO_DAY };

/**
 * The month that holds an instant.
 * @param timeZone IANA name.
 * @param billingDay 1–31; in a month that has no such day, its last day takes the place.
 */
export function monthPeriodAt(nowMs: number, timeZone = 'UTC', billingDay = 1): MonthPeriod {
  const today = Temporal.Instant.fromEpochMilliseconds(Math.floor(nowMs)).toZonedDateTimeISO(timeZone).toPlainDate();
  const here = firstDay(today.toPlainYearMonth(), billingDay);
  const begun = startMs(here, timeZone) <= nowMs;
  const month = today.toPlainYearMonth().add({ months: begun ? 0 : -1 });
  const first = firstDay(month, billingDay);
  const next = firstDay(month.add({ months: 1 }), billingDay);
  return {
    label: labelOf(first),
    following: labelOf(next),
    startMs: startMs(first, timeZone),
    endMs: startMs(next, timeZone),
    day: dayPeriodOf(today, timeZone),
  };
}

function firstDay(month: Temporal.PlainYearMonth, billingDay: number): Temporal.PlainDate {
  return month.toPlainDate({ day: Math.min(billingDay, month.daysInMonth) });
}

/**
 * The last day of the month with a label, as a number. Where the billing day has been moved since, the month is as long
 * as one that begins on the label's.
 */
export function lastDayOf(label: number, billingDay: number): number {
  const [year, month, day] = [Math.floor(label / 10_000), Math.floor(label / 100) % 100, label % 100];
  const own = Temporal.PlainYearMonth.from({ year, month });
  const begins = firstDay(own, billingDay).day === day ? billingDay : day;
  return labelOf(firstDay(own.add({ months: 1 }), begins).subtract({ days: 1 }));
}

/** The first instant of a day: midnight, or what follows it where the clocks skip midnight. */
function startMs(day: Temporal.PlainDate, timeZone: string): number {
  return day.toZonedDateTime(timeZone).epochMilliseconds;
}

/** The day that holds an instant. */
export function dayPeriodAt(nowMs: number, timeZone = 'UTC'): DayPeriod {
  const instant = Temporal.Instant.fromEpochMilliseconds(Math.floor(nowMs));
  return dayPeriodOf(instant.toZonedDateTimeISO(timeZone).toPlainDate(), timeZone);
}

function dayPeriodOf(day: Temporal.PlainDate, timeZone: string): DayPeriod {
  return { label: labelOf(day), startMs: startMs(day, timeZone), endMs: startMs(day.add({ days: 1 }), timeZone) };
}

/** A day as a number: 2026-11-20 is 20261120. */
export function labelOf(day: Temporal.PlainDate): number {
  return day.year * 10_000 + day.month * 100 + day.day;
}

/** The labels of a period as scripts take them: of its month, of the month after it, of its day. */
export function labelsOf({ label, following, day }: MonthPeriod): [number, number, number] {
  return [label, following, day.label];
}

/** The months of all accounts with one time zone and billing day. Asking for the current one costs two comparisons. */
export class MonthCalendar {
  private period: MonthPeriod = NO_PERIOD;

  constructor(
    readonly timeZone: string,
    readonly billingDay: number,
  ) {}

  /** The month and the day that hold an instant: the same object for all instants of a day. */
  at(nowMs: number): MonthPeriod {
    const { startMs, endMs } = this.period.day;
    if (nowMs >= endMs || nowMs < startMs) this.period = monthPeriodAt(nowMs, this.timeZone, this.billingDay);
    return this.period;
  }

  /** The day of the time zone that holds an instant. */
  dayAt(nowMs: number): DayPeriod {
    return this.at(nowMs).day;
  }
}

const calendars = new Map<string, MonthCalendar>();

/** The calendar of a time zone and billing day; there are some 600 × 31 of them at most. */
export function calendarOf(timeZone: string, billingDay: number): MonthCalendar {
  const id = `${timeZone}/${billingDay}`;
  let calendar = calendars.get(id);
  if (calendar === undefined) {
    calendar = new MonthCalendar(timeZone, billingDay);
    calendars.set(id, calendar);
  }
  return calendar;
}
