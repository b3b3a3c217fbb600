/** A counter in this process. Until its counts are written to the database, they exist nowhere else. */
import type { DayCount } from '../model/calendar-count.js';
import { Counter, type PeriodLabels } from '../model/counter.js';
import type { MonthCount } from '../model/counter-store.js';
import type { FlushProgress } from '../model/flush-progress.js';

/** How long a counter must be unused before it can be reaped, in seconds: two windows. */
const IDLE_SECONDS = 120;

/** OtherMonth is a month that the counter is not in now. */
interface OtherMonth extends MonthCount {
  /** The flush that received its count; infinite if none has. */
  takenIn: number;
}

/** TakenCount is a month count to be written. The current month also has its day's count. */
export interface TakenCount extends MonthCount {
  readonly day?: DayCount;
}

export class ProcessCounter extends Counter {
  /** The running flush, or the last one, at the counter's last use. */
  usedInFlush = 0;
  declare others: readonly OtherMonth[];

  /** Moves all windows to the current time. An unknown month keeps the counter where it is. */
  advance(second: number, period: PeriodLabels): void {
    this.slideTo(second);
    this.turnTo(period);
  }

  protected override othersWithout(label: number): readonly OtherMonth[] {
    const { month, used } = this;
    return [...this.others.filter((other) => other.month !== label), { month, used, takenIn: Infinity }];
  }

  /** Records the database's count of a future month, unless the counter knows that month. */
  recordFutureMonth({ month, used }: MonthCount): void {
    if (this.month === month || this.others.some((other) => other.month === month)) return;
    this.others = [...this.others, { month, used, takenIn: 0 }];
  }

  /** Returns the counts of the current month, and of the other months that it was in since the last call. */
  takeCounts(flushes?: FlushProgress): TakenCount[] {
    const { month, used, day, usedToday, others } = this;
    const counts: TakenCount[] = [{ month, used, day: { day, used: usedToday } }];
    if (others.length === 0) return counts;
    for (const other of others) {
      if (other.takenIn !== Infinity) continue;
      counts.push({ month: other.month, used: other.used });
      other.takenIn = flushes?.begun ?? Infinity;
    }
    // Drop past months that were written; the database has them. Keep future months: nothing reads them from the
    // database when they begin.
    this.others = others.filter((other) => other.month > month || other.takenIn > (flushes?.written ?? 0));
    return counts;
  }

  /**
   * Reports whether the counter was unused for so long that its minute is empty. If the clock is set back, this takes
   * longer.
   */
  isIdle(second: number): boolean {
    return second - this.current >= IDLE_SECONDS;
  }
}
