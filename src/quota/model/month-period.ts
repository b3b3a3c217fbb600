/**
 * Computes the month in which a request counts. It is a calendar month in the account's time zone, or the time between
 * two billing days. `Temporal` handles month lengths, leap years and daylight saving time.
 */

/**
 * MonthPeriod is the month and the day that contain an instant. A day never belongs to two months, because both begin
 * at midnight of the same time zone.
 */
export interface MonthPeriod {
  /**
   * First day of the month as a number, such as 20261101. The number labels the counters of the month. Later months
   * have higher labels. A changed time zone of the account does not change the label of the current month, so its
   * counts are kept.
   */
  readonly label: number;
  /**
   * Label of the next month. If a counter has this label or a higher label, a clock that ran ahead moved the counter to
   * that month.
   */
  readonly following: number;
  readonly startMs: number;
  /** First instant after the month, when the month's limits reset. */
  readonly endMs: number;
  /** The day in the account's time zone. */
  readonly day: DayPeriod;
}

/** DayPeriod is one day in an account's time zone. */
export interface DayPeriod {
  /** Date as a number, such as 20261120. */
  readonly label: number;
  readonly startMs: number;
  /** First instant after the day, when the day's limits reset. */
  readonly endMs: number;
}

const NO_DAY: DayPeriod = { label: 0, startMs: 0, endMs: 0 };

/** Maximum number of other months whose counts a counter keeps. */
export const OTHER_MONTHS = 2;
/** Maximum number of other days whose counts a counter keeps. */
export const OTHER_DAYS = 2;

/** Placeholder for a month that is not known yet. */
export const NO_PERIOD: MonthPeriod = { label: 0, following: 0, startMs: 0, endMs: 0, day: NO_DAY };

/**
 * Returns the month and the day that contain an instant.
 * @param timeZone IANA name.
 * @param billingDay 1–31; months without that day use their last day.
 */
export function monthPeriodAt(nowMs: number, timeZone = 'UTC', billingDay = 1): MonthPeriod {
  const today = Temporal.Instant.fromEpochMilliseconds(Math.floor(nowMs)).toZonedDateTimeISO(timeZone).toPlainDate();
  const billingDate = firstDay(today.toPlainYearMonth(), billingDay);
  const hasBegun = startMs(billingDate, timeZone) <= nowMs;
  const month = today.toPlainYearMonth().add({ months: hasBegun ? 0 : -1 });
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

/** Returns the day of a calendar month on which the billing month begins. */
function firstDay(month: Temporal.PlainYearMonth, billingDay: number): Temporal.PlainDate {
  return month.toPlainDate({ day: Math.min(billingDay, month.daysInMonth) });
}

/**
 * Returns the label of the last day of the month with this label. If the billing day was changed since, the month has
 * the length of a month that begins on the label's day.
 */
export function lastDayOf(label: number, billingDay: number): number {
  const [year, month, day] = [Math.floor(label / 10_000), Math.floor(label / 100) % 100, label % 100];
  const yearMonth = Temporal.PlainYearMonth.from({ year, month });
  const startDay = firstDay(yearMonth, billingDay).day === day ? billingDay : day;
  return labelOf(firstDay(yearMonth.add({ months: 1 }), startDay).subtract({ days: 1 }));
}

/** Returns the first instant of a day: midnight, or the first instant after it if the clocks skip midnight. */
function startMs(day: Temporal.PlainDate, timeZone: string): number {
  return day.toZonedDateTime(timeZone).epochMilliseconds;
}

/** Returns the day that contains an instant. */
export function dayPeriodAt(nowMs: number, timeZone = 'UTC'): DayPeriod {
  const instant = Temporal.Instant.fromEpochMilliseconds(Math.floor(nowMs));
  return dayPeriodOf(instant.toZonedDateTimeISO(timeZone).toPlainDate(), timeZone);
}

function dayPeriodOf(day: Temporal.PlainDate, timeZone: string): DayPeriod {
  return { label: labelOf(day), startMs: startMs(day, timeZone), endMs: startMs(day.add({ days: 1 }), timeZone) };
}

/** Returns a day as a number: 20261120 for 2026-11-20. */
export function labelOf(day: Temporal.PlainDate): number {
  return day.year * 10_000 + day.month * 100 + day.day;
}

/** Returns the labels of a period in the order that the Redis scripts expect: month, next month, day. */
export function labelsOf({ label, following, day }: MonthPeriod): [number, number, number] {
  return [label, following, day.label];
}

/**
 * MonthCalendar computes the months of all accounts with the same time zone and billing day. It caches the current day,
 * so that finding the current month costs two comparisons.
 */
export class MonthCalendar {
  private period: MonthPeriod = NO_PERIOD;

  constructor(
    readonly timeZone: string,
    readonly billingDay: number,
  ) {}

  /** Returns the month and the day that contain an instant. Returns the same object until the day changes. */
  at(nowMs: number): MonthPeriod {
    const { startMs, endMs } = this.period.day;
    if (nowMs >= endMs || nowMs < startMs) this.period = monthPeriodAt(nowMs, this.timeZone, this.billingDay);
    return this.period;
  }

  /** Returns the day that contains an instant. */
  dayAt(nowMs: number): DayPeriod {
    return this.at(nowMs).day;
  }
}

const calendars = new Map<string, MonthCalendar>();

/** Returns the calendar of a time zone and billing day. There are at most about 600 × 31 of them. */
export function calendarOf(timeZone: string, billingDay: number): MonthCalendar {
  const id = `${timeZone}/${billingDay}`;
  let calendar = calendars.get(id);
  if (calendar === undefined) {
    calendar = new MonthCalendar(timeZone, billingDay);
    calendars.set(id, calendar);
  }
  return calendar;
}
