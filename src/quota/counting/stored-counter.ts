/**
 * Implements a counter in the counting process. A counter has the same state as the hash that the Redis scripts use
 * (`redis/scripts/window.ts`).
 */
import type { RingPool } from '../../platform/ring-pool.js';
import { MINUTE_BUCKETS } from '../../platform/sliding-window.js';
import type { CalendarCount } from '../model/calendar-count.js';
import { Counter, type PeriodLabels, type CalendarState } from '../model/counter.js';
import type { MonthCount } from '../model/counter-store.js';
import { YOUTH_MS } from '../redis/scripts/young-counters.js';

const YOUTH_SECONDS = YOUTH_MS / 1_000;

/**
 * Youth is the additional state of a young counter. A counter is young for some seconds after its creation, because an
 * earlier counter may have been lost.
 */
export interface Youth {
  /** Second of creation. */
  readonly born: number;
  /**
   * When the base of the counter was observed (µs), and the base. The base is the latest observation of any node or the
   * database.
   */
  baseSeenUs: number;
  base: number;
  /** Costs that each node has counted itself since the loss, as pairs of time (µs) and cost. */
  readonly reports: Map<string, readonly number[]>;
}

export class StoredCounter extends Counter {
  youth: Youth | undefined;

  constructor(
    rings: RingPool,
    period: Omit<PeriodLabels, 'following'>,
    counted: CalendarCount,
    /** When the counter expires, in ms. */
    public expiresAtMs: number,
  ) {
    super(rings, period, counted);
  }

  /** Makes a young counter an ordinary counter if it was created `YOUTH_MS` ago or earlier. */
  endYouthIfOver(second: number): void {
    if (this.youth === undefined) return;
    const age = second - this.youth.born;
    if (age < 0 || age >= YOUTH_SECONDS) this.youth = undefined;
  }

  /**
   * Reports whether the node must report before it counts in this counter. Also ends the counter's youth if the youth
   * is over.
   * @param node undefined if the node is treated as if it had reported.
   */
  mustReport(second: number, node: string | undefined): boolean {
    if (this.youth === undefined) return false;
    this.endYouthIfOver(second);
    return node !== undefined && this.youth !== undefined && !this.youth.reports.has(node);
  }

  /** The counter's month and day, with their counts. A call that counts nothing restores this state afterwards. */
  get calendarState(): CalendarState {
    const { month, used, day, usedToday, setAtMs, others, otherDays } = this;
    return { month, used, day, usedToday, setAtMs, others, otherDays };
  }

  restore(place: CalendarState): void {
    Object.assign(this, place);
  }

  /**
   * Sets a new expiry if a call has moved the counter to another month.
   * @param from the counter's month and day before the call.
   */
  extendExpiry(expiresAtMs: number, from: CalendarState): void {
    if (this.month !== from.month) this.expiresAtMs = expiresAtMs;
  }

  /** Ends the counter's youth when its month changes. */
  protected override othersWithout(label: number): readonly MonthCount[] {
    this.youth = undefined;
    return super.othersWithout(label);
  }

  /** Sets the usage of the month. Ends the counter's youth, because earlier reports no longer matter. */
  override setUsed(used: number, atMs: number): void {
    super.setUsed(used, atMs);
    this.youth = undefined;
  }

  /**
   * Adds a cost to the counts of a month and a day, never below zero. Negative costs are refunds. Ignores days other
   * than the current day, and past months that the counter does not know.
   * @param period label of the current month. The counter can have a later label of this month.
   */
  addTo({ label, day }: Omit<PeriodLabels, 'following'>, cost: number, period: number): void {
    if (day.label === this.day) this.usedToday = Math.max(0, this.usedToday + cost);
    if (label === period || label === this.month) {
      this.used = Math.max(0, this.used + cost);
    } else if (this.others.some(({ month }) => month === label)) {
      this.others = this.others.map(({ month, used }) =>
        month === label ? { month, used: Math.max(0, used + cost) } : { month, used },
      );
    } else if (label > this.month) {
      this.others = [{ month: label, used: Math.max(0, cost) }, ...this.others];
    }
  }

  /**
   * Counts a cost in an earlier second of the minute. A negative cost is refunded, at most the count of that second.
   * Ignores a second that has left the minute.
   */
  countAt(second: number, cost: number): void {
    const at = Math.min(second, this.current);
    if (at <= this.current - MINUTE_BUCKETS) return;
    const held = this.countOf(at);
    const amount = cost < 0 ? -Math.min(-cost, held) : cost;
    if (amount === 0) return;
    if (this.sum === 0 || at < this.oldest) this.oldest = at;
    this.sum += amount;
    this.setCount(at, held + amount);
    while (this.oldest < this.current && this.countOf(this.oldest) === 0) this.oldest += 1;
  }
}
