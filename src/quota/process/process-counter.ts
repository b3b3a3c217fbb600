/**
 * Implements a counter in this process. Its counts exist nowhere else until a flush has written them to the database.
 */
import type { DayCount } from '../model/calendar-count.js';
import { Counter, type PeriodLabels } from '../model/counter.js';
import type { MonthCount } from '../model/counter-store.js';
import type { FlushProgress } from '../model/flush-progress.js';

/**
 * How long a counter must be unused before it can be reaped, in seconds. This is twice the length of the minute window.
 */
const IDLE_SECONDS = 120;

/** OtherMonth is a count of a month that is not the counter's current month. */
interface OtherMonth extends MonthCount {
  /**
   * Number of the flush that took this count. `Infinity` if no flush has taken the count, and 0 if the count came from
   * the database.
   */
  takenIn: number;
}

/**
 * TakenCount is a month count that a flush must write. For the counter's current month, it also contains the count of
 * the current day.
 */
export interface TakenCount extends MonthCount {
  readonly day?: DayCount;
}

export class ProcessCounter extends Counter {
  /** Number of the running or last flush at the time when the counter was last used. */
  usedInFlush = 0;
  declare others: readonly OtherMonth[];

  /** Moves all windows to the current time. If the counter does not know the month, its month stays unchanged. */
  advance(second: number, period: PeriodLabels): void {
    this.slideTo(second);
    this.turnTo(period);
  }

  protected override othersWithout(label: number): readonly OtherMonth[] {
    const { month, used } = this;
    return [...this.others.filter((other) => other.month !== label), { month, used, takenIn: Infinity }];
  }

  /** Records the database's count of a future month, unless the counter already has a count of that month. */
  recordFutureMonth({ month, used }: MonthCount): void {
    if (this.month === month || this.others.some((other) => other.month === month)) return;
    this.others = [...this.others, { month, used, takenIn: 0 }];
  }

  /**
   * Returns the counts to write. They are the count of the current month, and counts of other months that were not
   * returned before.
   */
  takeCounts(flushes?: FlushProgress): TakenCount[] {
    const { month, used, day, usedToday, others } = this;
    const counts: TakenCount[] = [{ month, used, day: { day, used: usedToday } }];
    if (others.length === 0) return counts;
    for (const other of others) {
      if (other.takenIn !== Infinity) continue;
      counts.push({ month: other.month, used: other.used });
      other.takenIn = flushes?.begun ?? Infinity;
    }
    // Drop past months that were written, because the database has them. Keep future months, because they are not read
    // from the database again when they begin.
    this.others = others.filter((other) => other.month > month || other.takenIn > (flushes?.written ?? 0));
    return counts;
  }

  /**
   * Reports whether the counter was unused for so long that its minute is empty. If the clock was set back, the counter
   * becomes idle later.
   */
  isIdle(second: number): boolean {
    return second - this.current >= IDLE_SECONDS;
  }
}
