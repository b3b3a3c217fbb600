/**
 * Implements the in-memory counter of one account or one key: a sliding minute, a month, and a day of that month. It
 * follows the same rules as the scripts in `src/quota/redis/scripts/`. All windows are in one object to save memory,
 * because there can be very many counters.
 */
import type { RingPool } from '../../platform/ring-pool.js';
import { SlidingWindow } from '../../platform/sliding-window.js';
import type { CalendarCount, DayCount } from './calendar-count.js';
import type { MonthCount } from './counter-store.js';
import { OTHER_DAYS, OTHER_MONTHS } from './month-period.js';

const NO_MONTHS: readonly MonthCount[] = [];
const NO_DAYS: readonly DayCount[] = [];
/** Value of `setAtMs` if no operator has set the month's usage. Lower than the time of any request. */
const NEVER_SET = -1;

/** PeriodLabels holds the labels of a `MonthPeriod`. */
export interface PeriodLabels {
  readonly label: number;
  readonly following: number;
  readonly day: { readonly label: number };
}

/** CountedAt is the time and the period in which a cost was counted. */
export interface CountedAt {
  readonly second: number;
  readonly atMs: number;
  readonly period: PeriodLabels;
}

/** CalendarState is the calendar part of a counter: its month and day, with all their counts. */
export type CalendarState = Pick<Counter, 'month' | 'used' | 'day' | 'usedToday' | 'setAtMs' | 'others' | 'otherDays'>;

/** Counter counts in all windows of an account or a key. Call `slideTo` and `turnTo` before you read or count. */
export class Counter extends SlidingWindow {
  /** Label of the current month. */
  month: number;
  used: number;
  /** Label of the current day. */
  day: number;
  usedToday: number;
  /** When an operator last set `used`, in ms with a fraction. */
  setAtMs = NEVER_SET;
  /** Counts of other months: earlier months of the counter, and future months from the database. */
  others: readonly MonthCount[] = NO_MONTHS;
  /** Counts of other days, latest first. If the clock is set back, the counter returns to them. */
  otherDays: readonly DayCount[] = NO_DAYS;

  constructor(
    private readonly rings: RingPool,
    { label, day }: Omit<PeriodLabels, 'following'>,
    { used, usedToday }: CalendarCount,
  ) {
    const { counts, from } = rings.allocateRing();
    super(counts, from);
    this.month = label;
    this.used = used;
    this.day = day.label;
    this.usedToday = usedToday;
  }

  /**
   * Reports whether the counter knows its usage in a month. The usage can be unknown if a clock that ran ahead moved
   * the counter to a later month.
   */
  knowsMonth({ label, following }: PeriodLabels): boolean {
    return this.month < following || this.others.some(({ month }) => month === label);
  }

  /** Reports whether the counter is in the month and on the day of a period, so that `turnTo` would change nothing. */
  isIn({ label, following, day }: PeriodLabels): boolean {
    return this.day === day.label && this.isInMonthOf({ label, following });
  }

  /**
   * Reports whether the counter is in the month of a period. The counter can have a later label of the same month if
   * the account's billing day was changed.
   */
  isInMonthOf({ label, following }: Pick<PeriodLabels, 'label' | 'following'>): boolean {
    return this.month === label || (this.month > label && this.month < following);
  }

  /**
   * Moves the counter to a month and a day. Restores the counts of a month or day that the counter still remembers.
   * Other months and days start at 0. A counter with a later label below `following` stays in its month, because the
   * account's billing day was changed.
   * @param known usage of a month that the counter does not know.
   * @returns false, without a change, if the counter is in a later month, does not know this month, and `known` is
   * undefined.
   */
  turnTo({ label, following, day }: PeriodLabels, known?: number): boolean {
    const isInMonth = this.isInMonthOf({ label, following });
    if (isInMonth && this.day === day.label) return true;
    if (!isInMonth) {
      const used = this.others.find(({ month }) => month === label)?.used ?? known;
      if (used === undefined && this.month > label) return false;
      this.others = this.othersWithout(label);
      this.month = label;
      this.used = used ?? 0;
      this.setAtMs = NEVER_SET;
    }
    if (this.day !== day.label) {
      const { day: ended, usedToday: used, otherDays } = this;
      const others = otherDays.filter((other) => other.day !== day.label && other.day !== ended);
      this.otherDays = [{ day: ended, used }, ...others].slice(0, OTHER_DAYS);
      this.day = day.label;
      this.usedToday = otherDays.find((other) => other.day === day.label)?.used ?? 0;
    }
    return true;
  }

  /** Returns the other months to keep after the counter moves from its current month to the month with this label. */
  protected othersWithout(label: number): readonly MonthCount[] {
    const { month: current, used } = this;
    // Keep the latest months. The database has the past months. Future months exist only because a clock ran ahead.
    return [{ month: current, used }, ...this.others.filter(({ month }) => month !== label && month !== current)]
      .toSorted((one, other) => other.month - one.month)
      .slice(0, OTHER_MONTHS);
  }

  /** Counts a cost in the current second, month and day. */
  count(cost: number): void {
    this.add(cost);
    this.used += cost;
    this.usedToday += cost;
  }

  /**
   * Refunds a cost in every window that still contains it, never below zero. If an operator set the month's usage after
   * the cost was counted, the month is not refunded.
   * @returns the amount that the month got back.
   */
  refund(cost: number, { second, atMs, period }: CountedAt): number {
    this.refundAt(second, cost);
    // The counter may have a later label in the same month, because the account's billing day was changed.
    if (!this.isInMonthOf(period)) return 0;
    if (this.day === period.day.label) this.usedToday -= Math.min(cost, this.usedToday);
    if (atMs <= this.setAtMs) return 0;
    const fromMonth = Math.min(cost, this.used);
    this.used -= fromMonth;
    return fromMonth;
  }

  /** Sets the usage of the month. The minute and the day keep their counts. */
  setUsed(used: number, atMs: number): void {
    this.used = used;
    this.setAtMs = atMs;
  }

  /** Returns the ring of the minute window to the pool. The counter must not be used afterwards. */
  release(): void {
    this.rings.releaseRing(this.counts, this.from);
  }
}
