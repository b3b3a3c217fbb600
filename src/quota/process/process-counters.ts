/**
 * Stores live counters in this process, for installations with a single process. Nodes that use Redis also use such
 * counters while Redis is unavailable. The counts are lost with the process, except those that a flush has written.
 */
import type { Clock } from '../../platform/clock.js';
import { valueOrLater, type ResultReceiver } from '../../platform/callbacks.js';
import {
  accountCounterKey,
  apiKeyCounterKey,
  shadowAccountCounterKey,
  shadowApiKeyCounterKey,
} from '../../stores/redis/keys.js';
import {
  ANY_ROOM,
  asWritten,
  type CounterReading,
  type CounterStore,
  type ExactCount,
  type Refund,
  type MinuteRoom,
  type MonthSet,
  type MonthSource,
  type WrittenMonth,
} from '../model/counter-store.js';
import { countsOf, readCounts, readingOf } from './counter-reading.js';
import type { ProcessCounter } from './process-counter.js';
import { CounterTable, NEVER_WRITTEN, type ObservedCountSource } from './counter-table.js';
import { decisionFor } from '../model/decision.js';
import { PASSING_SINK, type DecisionSink } from '../model/decision-sink.js';
import type { FlushProgress } from '../model/flush-progress.js';
import type { MonthCalendar, MonthPeriod } from '../model/month-period.js';
import { ACCOUNT_MINUTE, KEY_MINUTE } from '../../platform/quotas/windows.js';
import { accountCountIn, keyCountIn, withCalendarCounts } from '../model/calendar-count.js';
import { roomFor, type QuotaCounts, type QuotaDecision } from '../model/policies.js';
import type { QuotaSubject } from '../model/subject.js';
import { SingleFlight } from './single-flight.js';

/**
 * Counts before the current decision. One shared array, because each decision is complete before the next one begins.
 */
const countsBefore = countsOf(undefined, undefined);

/** ProcessCounters stores counters in this process only. */
export class ProcessCounters implements CounterStore {
  private readonly accounts: ReadonlyMap<string, ProcessCounter>;
  private readonly keys: ReadonlyMap<string, ProcessCounter>;
  private readonly table: CounterTable;
  private readonly seeding = new SingleFlight();
  /**
   * Latest time at which counts were read for the database, or at which an operator set a count, in ms. A count that an
   * operator sets gets a later time than all earlier observations, even in the same millisecond.
   */
  private latestMs = 0;

  constructor(
    private readonly clock: Clock,
    private readonly source: MonthSource,
    private readonly reportAs: 'store' | 'local' = 'store',
    /** Progress of the flushes to the database. If undefined, counters are never reaped. */
    private readonly flushes?: FlushProgress,
    private readonly sink: DecisionSink = PASSING_SINK,
  ) {
    this.table = new CounterTable(flushes);
    this.accounts = this.table.accounts;
    this.keys = this.table.keys;
  }

  /** Number of accounts and keys with a counter. */
  get size(): { readonly accounts: number; readonly keys: number } {
    return { accounts: this.accounts.size, keys: this.keys.size };
  }

  /**
   * Removes (reaps) counters that were unused for two minutes and whose month count is in the database. The next
   * request creates such a counter again from the database. Unused shadow counters are kept for 32 days. Call this
   * method about every second. Each call checks a part of the counters.
   */
  reapIdle(): void {
    this.table.reapIdle(Math.floor(this.clock.now() / 1_000));
  }

  decide(subject: QuotaSubject, cost: number): QuotaDecision | Promise<QuotaDecision> {
    const nowMs = this.clock.now();
    const period = subject.calendar.at(nowMs);
    const account = this.accounts.get(subject.accountCounterKey);
    const key = this.keys.get(subject.keyCounterKey);
    if (account?.knowsMonth(period) !== true || key?.knowsMonth(period) !== true)
      return this.seedAndDecide(subject, cost, period);
    return this.sink.onDecision(subject, this.decideNow(subject, cost, account, key, nowMs, period), this);
  }

  decideFor(waiting: ResultReceiver<QuotaDecision>, subject: QuotaSubject, cost: number): QuotaDecision | undefined {
    return valueOrLater(this.decide(subject, cost), waiting);
  }

  async refund(subject: QuotaSubject, decision: QuotaDecision): Promise<Refund> {
    if (this.flushes !== undefined && !subject.isShadow && !this.hasCounters(subject)) {
      // The counter was reaped, because the response took longer than unused counters are kept. Create it again.
      await this.seed(subject.accountId, subject.keyId, subject.calendar.at(this.clock.now()));
    }
    const nowMs = this.clock.now();
    const period = subject.calendar.at(nowMs);
    const account = this.accounts.get(subject.accountCounterKey);
    const key = this.keys.get(subject.keyCounterKey);
    let fromMonth = 0;
    for (const counter of [account, key]) {
      fromMonth = 0;
      if (counter === undefined) continue;
      counter.advance(Math.floor(nowMs / 1_000), period);
      if (!subject.isShadow) counter.usedInFlush = this.table.flush;
      fromMonth = counter.refund(decision.cost, {
        second: Math.floor(decision.nowMs / 1_000),
        atMs: decision.nowMs,
        period: decision.period,
      });
    }
    const used = countsOf(account, key);
    return { fromMonth, account: accountCountIn(used), key: keyCountIn(used), period, nowMs };
  }

  async read(
    accountId: string,
    keyId: string | undefined,
    calendar: MonthCalendar,
    room: MinuteRoom = ANY_ROOM,
  ): Promise<CounterReading> {
    const names = namesOf(accountId, keyId);
    const period = calendar.at(this.clock.now());
    const isKnown = this.accounts.get(names.account)?.knowsMonth(period) === true;
    if (!isKnown || (names.key !== undefined && this.keys.get(names.key)?.knowsMonth(period) !== true)) {
      await this.seed(accountId, keyId, period);
    }
    return this.readNow(names, calendar, room);
  }

  /** Reads the current counts without creating counters. The counts of a missing counter are 0. */
  peek(
    accountId: string,
    keyId: string | undefined,
    calendar: MonthCalendar,
    room: MinuteRoom = ANY_ROOM,
  ): CounterReading {
    return this.readNow(namesOf(accountId, keyId), calendar, room);
  }

  async readShadow(
    accountId: string,
    keyId: string | undefined,
    calendar: MonthCalendar,
    live: Readonly<QuotaCounts>,
    room: MinuteRoom = ANY_ROOM,
  ): Promise<CounterReading> {
    const names = {
      account: shadowAccountCounterKey(accountId),
      key: keyId && shadowApiKeyCounterKey(accountId, keyId),
    };
    const reading = this.readNow(names, calendar, room);
    const hasKey = names.key !== undefined && this.keys.has(names.key);
    const account = accountCountIn(this.accounts.has(names.account) ? reading.used : live);
    return {
      ...reading,
      used: withCalendarCounts(reading.used, { account, key: keyCountIn(hasKey ? reading.used : live) }),
    };
  }

  private readNow(
    { account, key }: { account: string; key: string | undefined },
    calendar: MonthCalendar,
    room: MinuteRoom,
  ): CounterReading {
    const nowMs = this.clock.now();
    return readingOf([this.accounts.get(account), this.keys.get(key ?? '')], nowMs, calendar.at(nowMs), room);
  }

  async setMonthUsed(
    accountId: string,
    keyId: string | undefined,
    calendar: MonthCalendar,
    used: number,
  ): Promise<MonthSet> {
    const nowMs = this.clock.now();
    const period = calendar.at(nowMs);
    const [counters, name, shadowName] =
      keyId === undefined
        ? [this.table.accounts, accountCounterKey(accountId), shadowAccountCounterKey(accountId)]
        : [this.table.keys, apiKeyCounterKey(accountId, keyId), shadowApiKeyCounterKey(accountId, keyId)];
    const counter = this.table.getOrCreate(counters, name, period);
    counter.advance(Math.floor(nowMs / 1_000), period);
    const before = counter.knowsMonth(period) ? counter.used : 0;
    for (const each of [counter, counters.get(shadowName)]) {
      if (each === undefined) continue;
      each.advance(Math.floor(nowMs / 1_000), period);
      each.turnTo(period, used);
      each.usedInFlush = this.table.flush;
      each.setUsed(used, nowMs);
    }
    this.latestMs = Math.max(nowMs, this.latestMs + 1);
    return { period, before, used, observedAtMs: this.latestMs };
  }

  /** Creates a subject's missing counters from counts that were last seen; see `CounterTable.createFrom`. */
  seedFrom(
    subject: QuotaSubject,
    ofAccount: ObservedCountSource,
    ofKey: ObservedCountSource,
    period: MonthPeriod,
  ): void {
    this.table.createFrom(subject, ofAccount, ofKey, period);
  }

  /**
   * Returns the month counts of a subject to write to the database. Returns none if a counter of the subject does not
   * exist.
   */
  monthUsed(subject: QuotaSubject): ExactCount[] {
    const account = this.accounts.get(subject.accountCounterKey);
    const key = this.keys.get(subject.keyCounterKey);
    if (account === undefined || key === undefined) return [];
    const nowMs = this.clock.now();
    const period = subject.calendar.at(nowMs);
    account.advance(Math.floor(nowMs / 1_000), period);
    key.advance(Math.floor(nowMs / 1_000), period);
    const observedAtMs = Math.max(nowMs, this.latestMs);
    this.latestMs = observedAtMs;
    return [
      ...account.takeCounts(this.flushes).map((count) => ({ ...count, of: 'account' as const, observedAtMs })),
      ...key.takeCounts(this.flushes).map((count) => ({ ...count, of: 'key' as const, observedAtMs })),
    ];
  }

  /** Removes all counters. */
  clear(): void {
    this.table.clear();
  }

  private decideNow(
    subject: QuotaSubject,
    cost: number,
    account: ProcessCounter,
    key: ProcessCounter,
    nowMs: number,
    period: MonthPeriod,
  ): QuotaDecision {
    const bucket = Math.floor(nowMs / 1_000);
    account.advance(bucket, period);
    key.advance(bucket, period);
    account.usedInFlush = key.usedInFlush = subject.isShadow ? NEVER_WRITTEN : (this.flushes?.begun ?? 0);
    const before = countsBefore;
    readCounts(account, key, before);
    const admitted = roomFor(subject.limits, before, cost) > 0 ? 1 : 0;
    if (admitted === 1 && cost > 0) {
      account.count(cost);
      key.count(cost);
    }
    return decisionFor(
      subject,
      cost,
      {
        source: this.reportAs,
        nowMs,
        period,
        admitted,
        before,
        accountOldest: account.oldest,
        keyOldest: key.oldest,
        accountFreedAt:
          admitted === 1 ? 0 : account.freedAt(before[ACCOUNT_MINUTE] + cost - subject.limits[ACCOUNT_MINUTE]),
        keyFreedAt: admitted === 1 ? 0 : key.freedAt(before[KEY_MINUTE] + cost - subject.limits[KEY_MINUTE]),
      },
      0,
    );
  }

  /**
   * Creates missing counters, and then decides. The initial counts of shadow counters come from the subject, and those
   * of other counters from the database. If the database cannot be read, the sink's `onFailure` decides.
   */
  private seedAndDecide(
    subject: QuotaSubject,
    cost: number,
    period: MonthPeriod,
  ): QuotaDecision | Promise<QuotaDecision> {
    const { startsFrom, accountCounterKey: account, keyCounterKey: key } = subject;
    if (startsFrom !== undefined) {
      const { period: of, account: ofAccount, key: ofKey } = startsFrom;
      this.table.create([account, key], of, [asWritten(ofAccount, of), asWritten(ofKey, of)]);
      return this.decide(subject, cost);
    }
    return this.seed(subject.accountId, subject.keyId, period).then(
      () => this.decide(subject, cost),
      (error: unknown) => this.sink.onFailure(subject, cost, error),
    );
  }

  /**
   * Creates missing counters from the database, and reads unknown months of existing counters from the database.
   * Existing counters keep their counts.
   *
   * Callers with the same name share one read. The name contains the number of reaped counters. A caller must not join
   * a read that ended before a counter was reaped, because that read would not create the counter again.
   */
  private seed(accountId: string, keyId: string | undefined, period: MonthPeriod): Promise<void> {
    return this.seeding.run(`${accountId}/${keyId ?? ''}/${period.label}/${this.table.reaped}`, async () => {
      let reaped: number;
      let used: WrittenMonth;
      do {
        ({ reaped } = this.table);
        used = await this.source.usedInMonth(accountId, keyId, period);
        // If a counter was reaped during the read, read again. The counter may have counted and been written after the
        // read.
      } while (reaped !== this.table.reaped);
      const { account, key } = namesOf(accountId, keyId);
      this.table.create([account, key], period, [used.account, used.key]);
    });
  }

  private hasCounters({ accountCounterKey: account, keyCounterKey: key }: QuotaSubject): boolean {
    return this.accounts.has(account) && this.keys.has(key);
  }
}

function namesOf(accountId: string, keyId: string | undefined): { account: string; key: string | undefined } {
  return { account: accountCounterKey(accountId), key: keyId && apiKeyCounterKey(accountId, keyId) };
}
