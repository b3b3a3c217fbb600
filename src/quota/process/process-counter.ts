/** A counter of this process, which is the only one that knows its counts until they are written to the database. */
import type { DayCount } from '../model/calendar-count.js';
import { Counter, type PeriodLabels } from '../model/counter.js';
import type { MonthCount } from '../model/counter-store.js';
import type { FlushRounds } from '../model/flush-rounds.js';

/** How long nothing is asked of a counter before it may be forgotten, in seconds: two windows. */
const IDLE_SECONDS = 120;

/** A month that a counter is not in now. */
interface OtherMonth extends MonthCount {
  /** The flush in which its count was handed out; infinite: in none. */
  takenIn: number;
}

/** A month count to be written; with the day where it is of the current month. */
export interface TakenCount extends MonthCount {
  readonly day?: DayCount;
}

export class ProcessCounter extends Counter {
  /** The flush that was under way, or the last one, when it was last used. */
  usedInFlush = 0;
  declare others: readonly OtherMonth[];

  /** Brings all windows to now. A month that it does not know is left alone. */
  advance(second: number, period: PeriodLabels): void {
    this.slideTo(second);
    this.turnTo(period);
  }

  protected override othersWithout(label: number): readonly OtherMonth[] {
    const { month, used } = this;
    return [...this.others.filter((other) => other.month !== label), { month, used, takenIn: Infinity }];
  }

  /** Learns what the database has of a month to come, unless it knows that. */
  learn({ month, used }: MonthCount): void {
    if (this.month === month || this.others.some((other) => other.month === month)) return;
    this.others = [...this.others, { month, used, takenIn: 0 }];
  }

  /** Counts since the last call: of the current month, and of the others that it was in since. */
  takeCounts(flushes?: FlushRounds): TakenCount[] {
    const { month, used, day, usedToday, others } = this;
    const counts: TakenCount[] = [{ month, used, day: { day, used: usedToday } }];
    if (others.length === 0) return counts;
    for (const other of others) {
      if (other.takenIn !== Infinity) continue;
      counts.push({ month: other.month, used: other.used });
      other.takenIn = flushes?.begun ?? Infinity;
    }
    // The database has what is over and written; what is still to come is asked for by nobody when it comes.
    this.others = others.filter((other) => other.month > month || other.takenIn > (flushes?.written ?? 0));
    return counts;
  }

  /** Whether nobody has asked for it for so long that its minute is empty. A clock that went back makes it wait. */
  isIdle(second: number): boolean {
    return second - this.current >= IDLE_SECONDS;
  }
}
