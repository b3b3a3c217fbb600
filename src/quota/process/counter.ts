/** The counter of one account or one key in this process. */
import type { MonthCount } from '../model/counter-store.js';
import type { FlushRounds } from '../model/flush-rounds.js';
import type { MonthPeriod } from '../model/month-period.js';
import type { QuotaDecision } from '../model/policies.js';
import type { RingPool } from '../../platform/ring-pool.js';
import { SlidingWindow } from '../../platform/sliding-window.js';

/** How long nothing is asked of a counter before it may be forgotten, in seconds: two windows. */
const IDLE_SECONDS = 120;

/** A month that a counter is not in now. */
interface OtherMonth extends MonthCount {
  /** The flush in which its count was handed out; infinite: in none. */
  takenIn: number;
}

/** When a counter was last set, and which month of it. */
export interface SetAt {
  readonly month: number;
  readonly atMs: number;
}

/** A minute's window with the month beside it: one object, because there may be very many. */
export class Counter extends SlidingWindow {
  /**
   * Months that it was in: the one before, until it is written, and those that a clock that ran ahead said it was in.
   */
  private others: OtherMonth[] | undefined;
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

  /** Whether it knows what it has used in a month: not where its label is one of a clock that ran ahead. */
  knows({ label, following }: MonthPeriod): boolean {
    return this.month < following || this.others?.some(({ month }) => month === label) === true;
  }

  /**
   * Brings both windows to now: a month that is left and come back to goes on where it stood. One that it does not know
   * is left alone.
   */
  advance(bucket: number, period: MonthPeriod): void {
    this.slideTo(bucket);
    const { label, following } = period;
    if (this.month === label || (this.month > label && this.month < following)) return;
    const known = this.others?.find(({ month }) => month === label);
    if (known !== undefined || this.month < label) this.turnTo(label, known?.used ?? 0);
  }

  /** Goes on in another month. */
  turnTo(month: number, used: number): void {
    if (this.month === month) return;
    const others = this.others?.filter((other) => other.month !== month) ?? [];
    this.others = [...others, { month: this.month, used: this.used, takenIn: Infinity }];
    this.month = month;
    this.used = used;
  }

  /** Learns what the database has of a month to come, unless it knows that. */
  learn({ month, used }: MonthCount): void {
    if (this.month === month || this.others?.some((other) => other.month === month) === true) return;
    (this.others ??= []).push({ month, used, takenIn: 0 });
  }

  /** Refunds a decision in both windows, as far as they still hold it. @returns how much the month was refunded. */
  refund({ cost, nowMs, period }: QuotaDecision, set: SetAt | undefined): number {
    this.giveBack(Math.floor(nowMs / 1_000), cost);
    // A later label than its own is one that goes on: the account's billing day was moved back.
    if (this.month < period.label || this.month >= period.following) return 0;
    if (set?.month === this.month && nowMs <= set.atMs) return 0;
    const fromMonth = Math.min(cost, this.used);
    this.used -= fromMonth;
    return fromMonth;
  }

  /** Counts since the last call: of the current month, and of the others that it was in since. */
  takeCounts(flushes?: FlushRounds): MonthCount[] {
    const { month, used, others } = this;
    const counts: MonthCount[] = [{ month, used }];
    if (others === undefined) return counts;
    for (const other of others) {
      if (other.takenIn !== Infinity) continue;
      counts.push({ month: other.month, used: other.used });
      other.takenIn = flushes?.begun ?? Infinity;
    }
    // The database has what is over and written; what is still to come is asked for by nobody when it comes.
    const kept = others.filter((other) => other.month > month || other.takenIn > (flushes?.written ?? 0));
    this.others = kept.length === 0 ? undefined : kept;
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
