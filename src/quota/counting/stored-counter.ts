/** A counter in the counting process: what the scripts of Redis keep in a hash. */
import type { RingPool } from '../../platform/ring-pool.js';
import { MINUTE_BUCKETS } from '../../platform/sliding-window.js';
import type { CalendarCount } from '../model/calendar-count.js';
import { Counter, type PeriodLabels, type Place } from '../model/counter.js';
import type { MonthCount } from '../model/counter-store.js';
import { YOUTH_MS } from '../redis/scripts/young.js';

const YOUTH_SECONDS = YOUTH_MS / 1_000;

/** Youth is what has to be known of a counter that was created lately: it may have been lost a moment ago. */
export interface Youth {
  /** Second of its birth. */
  readonly born: number;
  /** When its base was observed, µs, and what it was. */
  baseSeenUs: number;
  base: number;
  /** By node what it counted itself since the loss: instants (µs) and costs in turn. */
  readonly handedIn: Map<string, readonly number[]>;
}

export class StoredCounter extends Counter {
  youth: Youth | undefined;

  constructor(
    rings: RingPool,
    period: Omit<PeriodLabels, 'following'>,
    counted: CalendarCount,
    /** When it is forgotten, ms. */
    public expiresAtMs: number,
  ) {
    super(rings, period, counted);
  }

  /** Ends its youth where that is over. */
  grow(second: number): void {
    if (this.youth === undefined) return;
    const age = second - this.youth.born;
    if (age < 0 || age >= YOUTH_SECONDS) this.youth = undefined;
  }

  /** Ends its youth where that is over. @returns whether this node has to hand in first. */
  owes(second: number, node: string | undefined): boolean {
    if (this.youth === undefined) return false;
    this.grow(second);
    return node !== undefined && this.youth !== undefined && !this.youth.handedIn.has(node);
  }

  /** Its place in the calendar. A call that counts nothing restores it. */
  get place(): Place {
    const { month, used, day, usedToday, setAtMs, others, otherDays } = this;
    return { month, used, day, usedToday, setAtMs, others, otherDays };
  }

  restore(place: Place): void {
    Object.assign(this, place);
  }

  /** Keeps it for the month that a call has brought it to. @param from where it stood before the call. */
  keepUntil(expiresAtMs: number, from: Place): void {
    if (this.month !== from.month) this.expiresAtMs = expiresAtMs;
  }

  /** Ends its youth with the month, too. */
  protected override othersWithout(label: number): readonly MonthCount[] {
    this.youth = undefined;
    return super.othersWithout(label);
  }

  /** Sets what is used of the month: whatever nodes have to hand in is not asked for any more. */
  override setUsed(used: number, atMs: number): void {
    super.setUsed(used, atMs);
    this.youth = undefined;
  }

  /** Adds to the counts of a month and a day, which never go below zero, in a period that the counter is in. */
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

  /** Counts in an earlier second what belongs there; a cost below zero is taken out, as far as that second holds it. */
  countAt(second: number, cost: number): void {
    const at = Math.min(second, this.current);
    if (at <= this.current - MINUTE_BUCKETS) return;
    const held = this.countOf(at);
    const amount = cost < 0 ? -Math.min(-cost, held) : cost;
    if (amount === 0) return;
    if (this.sum === 0 || at < this.oldest) this.oldest = at;
    this.sum += amount;
    this.put(at, held + amount);
    while (this.oldest < this.current && this.countOf(this.oldest) === 0) this.oldest += 1;
  }
}
