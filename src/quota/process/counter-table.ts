/** Holds the counters in this process by name. Finds and creates counters, and reaps (removes) idle counters. */
import { NOTHING_COUNTED, accountCountIn, keyCountIn, type CalendarCount } from '../model/calendar-count.js';
import { writtenIn, type WrittenCount } from '../model/counter-store.js';
import type { FlushProgress } from '../model/flush-progress.js';
import type { MonthPeriod } from '../model/month-period.js';
import { ACCOUNT_MINUTE, KEY_MINUTE } from '../../platform/quotas/windows.js';
import type { QuotaCounts } from '../model/policies.js';
import type { QuotaSubject } from '../model/subject.js';
import { ProcessCounter } from './process-counter.js';
import { IdleReaper } from './idle-reaper.js';
import { RingPool } from '../../platform/ring-pool.js';

/** Maximum number of counters of each kind that one run checks. Checking this number takes well under a millisecond. */
const REAPED_AT_ONCE = 5_000;
/**
 * Value of `usedInFlush` for shadow counters, which are never written to the database. Their counts exist only in this
 * process.
 */
export const NEVER_WRITTEN = Infinity;
/** How long unused shadow counters are kept, in seconds. Longer than any month. */
const SHADOW_KEPT_SECONDS = 32 * 86_400;

/** ObservedCountSource holds the last seen counts of a key and its account, and when this node saw them (ms). */
export interface ObservedCountSource {
  readonly counts: Readonly<QuotaCounts>;
  readonly atMs: number;
}

/** CounterTable holds the counters of accounts and of keys. */
export class CounterTable {
  readonly accounts = new Map<string, ProcessCounter>();
  readonly keys = new Map<string, ProcessCounter>();
  /** Number of counters that were reaped so far. */
  reaped = 0;
  private rings = new RingPool();
  private readonly reapers = [new IdleReaper(this.accounts), new IdleReaper(this.keys)];

  constructor(
    /** Progress of the flushes to the database. If undefined, counters are never reaped. */
    private readonly flushes: FlushProgress | undefined,
  ) {}

  /** Number of the running flush, or of the last flush. 0 before the first flush. */
  get flush(): number {
    return this.flushes?.begun ?? 0;
  }

  /**
   * Reaps some of the idle counters; see `ProcessCounters.reapIdle`.
   * @param second current second.
   */
  reapIdle(second: number): void {
    const { flushes } = this;
    if (flushes === undefined) return;
    const reapIfIdle = (counter: ProcessCounter): boolean => {
      const isShadow = counter.usedInFlush === NEVER_WRITTEN;
      if (!counter.isIdle(isShadow ? second - SHADOW_KEPT_SECONDS : second)) return false;
      if (!isShadow && counter.usedInFlush >= flushes.written) return false;
      counter.release();
      this.reaped += 1;
      return true;
    };
    for (const reaper of this.reapers) reaper.run(REAPED_AT_ONCE, reapIfIdle);
  }

  /**
   * Creates missing counters of an account and a key with the counts of the database. Moves existing counters that do
   * not know the month to that month.
   */
  create(
    [account, key]: readonly [string, string | undefined],
    period: MonthPeriod,
    [ofAccount, ofKey]: readonly [WrittenCount, WrittenCount],
  ): void {
    this.createIn(this.accounts, account, period, ofAccount);
    if (key !== undefined) this.createIn(this.keys, key, period, ofKey);
  }

  /**
   * Creates missing counters of a subject from the last seen counts of its account and its key. Moves existing counters
   * that do not know the month to that month.
   */
  createFrom(
    subject: QuotaSubject,
    ofAccount: ObservedCountSource,
    ofKey: ObservedCountSource,
    period: MonthPeriod,
  ): void {
    const { accountCounterKey: account, keyCounterKey: key } = subject;
    const [accountMinute, keyMinute] = [ofAccount.counts[ACCOUNT_MINUTE], ofKey.counts[KEY_MINUTE]];
    this.createSeen(this.accounts, account, period, accountCountIn(ofAccount.counts), accountMinute, ofAccount.atMs);
    this.createSeen(this.keys, key, period, keyCountIn(ofKey.counts), keyMinute, ofKey.atMs);
  }

  /** Returns the counter with this name. Creates a counter without usage if no counter has this name. */
  getOrCreate(counters: Map<string, ProcessCounter>, name: string, period: MonthPeriod): ProcessCounter {
    const counter = counters.get(name) ?? this.newCounter(period, NOTHING_COUNTED);
    counters.set(name, counter);
    return counter;
  }

  /** Removes all counters. */
  clear(): void {
    this.accounts.clear();
    this.keys.clear();
    this.rings = new RingPool();
  }

  private createIn(
    counters: Map<string, ProcessCounter>,
    name: string,
    period: MonthPeriod,
    written: WrittenCount,
  ): void {
    let counter = counters.get(name);
    if (counter === undefined) counters.set(name, (counter = this.newCounter(period, writtenIn(written, period))));
    else if (!counter.knowsMonth(period)) counter.turnTo(period, written.used);
    for (const count of written.later) counter.recordFutureMonth(count);
  }

  private createSeen(
    counters: Map<string, ProcessCounter>,
    name: string,
    period: MonthPeriod,
    counted: CalendarCount,
    minuteUsed: number,
    seenAtMs: number,
  ): void {
    const known = counters.get(name);
    if (known !== undefined) {
      if (!known.knowsMonth(period)) known.turnTo(period, counted.used);
      return;
    }
    const counter = this.newCounter(period, counted);
    counter.slideTo(Math.floor(seenAtMs / 1_000));
    if (minuteUsed > 0) counter.add(minuteUsed);
    counters.set(name, counter);
  }

  private newCounter(period: MonthPeriod, counted: CalendarCount): ProcessCounter {
    const counter = new ProcessCounter(this.rings, period, counted);
    counter.usedInFlush = this.flush;
    return counter;
  }
}
