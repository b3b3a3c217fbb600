/**
 * The counter of one account or one key in memory, by the rules of the scripts in `src/quota/redis/scripts/`: a sliding
 * minute, a calendar month, and the day of that month. One object, because there may be very many.
 */
import type { RingPool } from '../../platform/ring-pool.js';
import { SlidingWindow } from '../../platform/sliding-window.js';
import type { CalendarCount, DayCount } from './calendar-count.js';
import type { MonthCount } from './counter-store.js';
import { OTHER_DAYS, OTHER_MONTHS } from './month-period.js';

const NO_MONTHS: readonly MonthCount[] = [];
const NO_DAYS: readonly DayCount[] = [];
/** Before every request. */
const NEVER_SET = -1;

/** The labels of a `MonthPeriod`. */
export interface PeriodLabels {
  readonly label: number;
  readonly following: number;
  readonly day: { readonly label: number };
}

/** Time and period in which a cost was counted. */
export interface CountedAt {
  readonly second: number;
  /** Milliseconds. */
  readonly atMs: number;
  readonly period: PeriodLabels;
}

/** A counter's place in the calendar, with its counts. */
export type Place = Pick<Counter, 'month' | 'used' | 'day' | 'usedToday' | 'setAtMs' | 'others' | 'otherDays'>;

/** Counter counts in all windows of an account or a key. Call `slideTo` and `turnTo` before reading or adding. */
export class Counter extends SlidingWindow {
  /** Label of the month that it is in. */
  month: number;
  used: number;
  /** Label of the day that it is in. */
  day: number;
  usedToday: number;
  /** When `used` was last set, ms with a fraction. */
  setAtMs = NEVER_SET;
  /** Months that it was in, or that it was told about. */
  others: readonly MonthCount[] = NO_MONTHS;
  /** Days that it was in before, the last one first: a clock may go back to them. */
  otherDays: readonly DayCount[] = NO_DAYS;

  constructor(
    private readonly rings: RingPool,
    { label, day }: Omit<PeriodLabels, 'following'>,
    { used, usedToday }: CalendarCount,
  ) {
    const { counts, from } = rings.take();
    super(counts, from);
    this.month = label;
    this.used = used;
    this.day = day.label;
    this.usedToday = usedToday;
  }

  /** Whether it knows what it has used in a month: not where its label is one of a clock that ran ahead. */
  knows({ label, following }: PeriodLabels): boolean {
    return this.month < following || this.others.some(({ month }) => month === label);
  }

  /** Whether `turnTo` would change nothing. */
  isIn({ label, following, day }: PeriodLabels): boolean {
    return this.day === day.label && this.isInMonthOf({ label, following });
  }

  /** Whether it is in the month of a period, or in one that goes on in its place. */
  isInMonthOf({ label, following }: Pick<PeriodLabels, 'label' | 'following'>): boolean {
    return this.month === label || (this.month > label && this.month < following);
  }

  /**
   * Brings it to a month and a day: to where it stood there, if it was in it before, else to nothing. A later month
   * that is not yet `following` goes on, because the account's billing day was moved.
   * @param known what is used of a month that it does not know.
   * @returns false where it is in a month to come and does not know this one: then it stays there.
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
      const { day: left, usedToday: used, otherDays } = this;
      const others = otherDays.filter((other) => other.day !== day.label && other.day !== left);
      this.otherDays = [{ day: left, used }, ...others].slice(0, OTHER_DAYS);
      this.day = day.label;
      this.usedToday = otherDays.find((other) => other.day === day.label)?.used ?? 0;
    }
    return true;
  }

  /** The other months once the counter has left its own for another. */
  protected othersWithout(label: number): readonly MonthCount[] {
    const { month: own, used } = this;
    // The latest are kept: those to come are there because a clock ran ahead, and the database has those that are over.
    return [{ month: own, used }, ...this.others.filter(({ month }) => month !== label && month !== own)]
      .toSorted((one, other) => other.month - one.month)
      .slice(0, OTHER_MONTHS);
  }

  /** Counts now, in all windows. */
  count(cost: number): void {
    this.add(cost);
    this.used += cost;
    this.usedToday += cost;
  }

  /**
   * Refunds a cost in every window that still holds it; never below zero. A cost that was counted before the month was
   * set is not taken from the month.
   * @returns how much the month refunded.
   */
  refund(cost: number, { second, atMs, period }: CountedAt): number {
    this.giveBack(second, cost);
    // A later label than its own is one that goes on: the account's billing day was moved back.
    if (!this.isInMonthOf(period)) return 0;
    if (this.day === period.day.label) this.usedToday -= Math.min(cost, this.usedToday);
    if (atMs <= this.setAtMs) return 0;
    const fromMonth = Math.min(cost, this.used);
    this.used -= fromMonth;
    return fromMonth;
  }

  /** Sets what is used of the month; the minute and the day stay. */
  setUsed(used: number, atMs: number): void {
    this.used = used;
    this.setAtMs = atMs;
  }

  /** Gives its ring back. It must not be used after that. */
  release(): void {
    this.rings.release(this.counts, this.from);
  }
}
