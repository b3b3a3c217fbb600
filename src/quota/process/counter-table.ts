/** The counters of this process by their names: found, created, and reaped when they idle. */
import { NOTHING_COUNTED, accountCountIn, keyCountIn, type CalendarCount } from '../model/calendar-count.js';
import { writtenIn, type WrittenCount } from '../model/counter-store.js';
import type { FlushRounds } from '../model/flush-rounds.js';
import type { MonthPeriod } from '../model/month-period.js';
import { ACCOUNT_MINUTE, KEY_MINUTE } from '../../platform/quotas/windows.js';
import type { QuotaCounts } from '../model/policies.js';
import type { QuotaSubject } from '../model/subject.js';
import { ProcessCounter } from './process-counter.js';
import { IdleReaper } from './idle-reaper.js';
import { RingPool } from '../../platform/ring-pool.js';

/** Counters of each kind that one look of the reapers goes through: well under a millisecond. */
const REAPED_AT_ONCE = 5_000;
/** `usedInFlush` of counters that are written nowhere, those of shadow limits: only they know what their month held. */
export const NEVER_WRITTEN = Infinity;
/** So long those are kept: until their month has surely ended. */
const SHADOW_KEPT_SECONDS = 32 * 86_400;

/** Where the counter of an account or a key was last seen. */
export interface SeenCounts {
  readonly counts: Readonly<QuotaCounts>;
  readonly atMs: number;
}

/** CounterTable holds the counters of accounts and those of keys. */
export class CounterTable {
  readonly accounts = new Map<string, ProcessCounter>();
  readonly keys = new Map<string, ProcessCounter>();
  /** How many have been reaped. */
  reaped = 0;
  private rings = new RingPool();
  private readonly reapers = [new IdleReaper(this.accounts), new IdleReaper(this.keys)];

  constructor(
    /** How far the counts have been written; without it no counter is ever reaped. */
    private readonly flushes: FlushRounds | undefined,
  ) {}

  /** The flush that is under way, or the last one. */
  get flush(): number {
    return this.flushes?.begun ?? 0;
  }

  /** Reaps some of those that may go at a second; `ProcessCounters.reapIdle` says which. */
  reapIdle(second: number): void {
    const { flushes } = this;
    if (flushes === undefined) return;
    const mayGo = (counter: ProcessCounter): boolean => {
      const isShadow = counter.usedInFlush === NEVER_WRITTEN;
      if (!counter.isIdle(isShadow ? second - SHADOW_KEPT_SECONDS : second)) return false;
      if (!isShadow && counter.usedInFlush >= flushes.written) return false;
      counter.release();
      this.reaped += 1;
      return true;
    };
    for (const reaper of this.reapers) reaper.run(REAPED_AT_ONCE, mayGo);
  }

  /**
   * Creates the counters of an account and a key that do not exist, and brings those to a month that do not know it.
   */
  create(
    [account, key]: readonly [string, string | undefined],
    period: MonthPeriod,
    [ofAccount, ofKey]: readonly [WrittenCount, WrittenCount],
  ): void {
    this.createIn(this.accounts, account, period, ofAccount);
    if (key !== undefined) this.createIn(this.keys, key, period, ofKey);
  }

  /** Puts a subject's counters where its account and its key were last seen, unless they exist. */
  createFrom(subject: QuotaSubject, ofAccount: SeenCounts, ofKey: SeenCounts, period: MonthPeriod): void {
    const { accountCounterKey: account, keyCounterKey: key } = subject;
    const [accountMinute, keyMinute] = [ofAccount.counts[ACCOUNT_MINUTE], ofKey.counts[KEY_MINUTE]];
    this.createSeen(this.accounts, account, period, accountCountIn(ofAccount.counts), accountMinute, ofAccount.atMs);
    this.createSeen(this.keys, key, period, keyCountIn(ofKey.counts), keyMinute, ofKey.atMs);
  }

  /** The counter of this name; a new one, with nothing used, where there is none. */
  obtain(counters: Map<string, ProcessCounter>, name: string, period: MonthPeriod): ProcessCounter {
    const counter = counters.get(name) ?? this.counter(period, NOTHING_COUNTED);
    counters.set(name, counter);
    return counter;
  }

  /** Forgets everything. */
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
    if (counter === undefined) counters.set(name, (counter = this.counter(period, writtenIn(written, period))));
    else if (!counter.knows(period)) counter.turnTo(period, written.used);
    for (const count of written.later) counter.learn(count);
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
      if (!known.knows(period)) known.turnTo(period, counted.used);
      return;
    }
    const counter = this.counter(period, counted);
    counter.slideTo(Math.floor(seenAtMs / 1_000));
    if (minuteUsed > 0) counter.add(minuteUsed);
    counters.set(name, counter);
  }

  private counter(period: MonthPeriod, counted: CalendarCount): ProcessCounter {
    const counter = new ProcessCounter(this.rings, period, counted);
    counter.usedInFlush = this.flush;
    return counter;
  }
}
