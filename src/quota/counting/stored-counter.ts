/** The counter of one account or one key in the counting process: what the scripts of Redis keep in a hash. */
import type { MonthCount } from '../model/counter-store.js';
import type { RingPool } from '../../platform/ring-pool.js';
import { MINUTE_BUCKETS, SlidingWindow } from '../../platform/sliding-window.js';
import { OTHER_MONTHS } from '../redis/scripts/window.js';
import { YOUTH_MS } from '../redis/scripts/young.js';

const YOUTH_SECONDS = YOUTH_MS / 1_000;
const NO_MONTHS: readonly MonthCount[] = [];
/** No count was made before it. */
const NEVER_SET = -1;

/** Where a counter stands in a month, with what it keeps of others beside it: itself, or as it would be there. */
export interface MonthState extends MonthCount {
  readonly others: readonly MonthCount[];
}

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

/** StoredCounter is a minute's window with the month beside it, by the rules of `src/quota/redis/scripts/`. */
export class StoredCounter extends SlidingWindow {
  others: readonly MonthCount[] = NO_MONTHS;
  /** When `used` was last set, ms with a fraction. */
  setAtMs = NEVER_SET;
  youth: Youth | undefined;

  constructor(
    private readonly rings: RingPool,
    public month: number,
    public used: number,
    /** When it is forgotten, ms. */
    public expiresAtMs: number,
  ) {
    const { counts, from } = rings.take();
    super(counts, from);
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

  /**
   * Where it stands in a month: the counter itself where it is in that, or in a later one that is not yet `following`
   * (the account's billing day was moved); as it was left where it has been in it; else at nothing. Undefined where it
   * is in a month to come and does not know this one, unless it is said what was used (`known`).
   */
  in(label: number, following: number, known?: number): MonthState | undefined {
    const { month, used, others } = this;
    if (month === label || (month > label && month < following)) return this;
    const left = others.find((other) => other.month === label)?.used ?? known;
    if (left === undefined && month > label) return undefined;
    this.youth = undefined;
    // The latest are kept: those to come are there because a clock ran ahead, and the database has those that are over.
    const kept = [{ month, used }, ...others.filter((other) => other.month !== label && other.month !== month)]
      .toSorted((one, other) => other.month - one.month)
      .slice(0, OTHER_MONTHS);
    return { month: label, used: left ?? 0, others: kept };
  }

  /** Brings it to where it stands in a month, until `expiresAtMs`. */
  turnTo(state: MonthState, expiresAtMs: number): void {
    if (state === this) return;
    this.month = state.month;
    this.used = state.used;
    this.others = state.others;
    this.setAtMs = NEVER_SET;
    this.expiresAtMs = expiresAtMs;
  }

  /** Counts now, in both windows. */
  count(cost: number): void {
    this.add(cost);
    this.used += cost;
  }

  /** Sets the count of a month: whatever nodes have to hand in is not asked for any more. */
  set(month: number, used: number, atMs: number): void {
    this.youth = undefined;
    this.month = month;
    this.used = used;
    this.setAtMs = atMs;
  }

  /** Adds to the count of a month, which never goes below zero. */
  addToMonth(label: number, cost: number, period: number): void {
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

  /** Gives its ring back. It must not be used after that. */
  release(): void {
    this.rings.release(this.counts, this.from);
  }
}
