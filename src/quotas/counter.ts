/** The counter of one account or one key in this process. */
import type { MonthCount } from './counter-store.js';
import type { MonthPeriod } from './month-period.js';
import type { RingPool } from './ring-pool.js';
import { SlidingWindow } from './sliding-window.js';

/** How long nothing is asked of a counter before it may be forgotten, in seconds: two windows. */
const IDLE_SECONDS = 120;

/** A minute's window with the month beside it: one object, because there may be very many. */
export class Counter extends SlidingWindow {
  /** The month before, until its last count has been handed out; 0: none. */
  private endedMonth = 0;
  private endedUsed = 0;
  /** The flush that was under way, or the last one, when it was last used. */
  usedInFlush = 0;

  constructor(
    private readonly rings: RingPool,
    public month: number,
    public used: number,
  ) {
    const { counts, from } = rings.take();
    super(counts, from);
  }

  /** Brings both windows to now. */
  advance(bucket: number, period: MonthPeriod): void {
    this.slideTo(bucket);
    if (this.month < period.label) {
      this.endedMonth = this.month;
      this.endedUsed = this.used;
      this.month = period.label;
      this.used = 0;
    }
  }

  /** Counts since the last call: of the current month, and the last one of the month that ended since. */
  takeCounts(): MonthCount[] {
    const counts = [{ month: this.month, used: this.used }];
    if (this.endedMonth !== 0) counts.push({ month: this.endedMonth, used: this.endedUsed });
    this.endedMonth = 0;
    return counts;
  }

  /** Whether nobody has asked for it for so long that its minute is empty. A clock that went back makes it wait. */
  isIdle(bucket: number): boolean {
    return bucket - this.current >= IDLE_SECONDS;
  }

  /** Gives its ring back. It must not be used after that. */
  release(): void {
    this.rings.release(this.counts, this.from);
  }
}
