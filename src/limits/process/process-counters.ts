/** Live counters inside this process: one machine, nothing to install. Also what a node counts on with while Redis is away. */
import type { Clock } from '../../platform/clock.js';
import { nowOrTold, type Waiting } from '../../platform/waiting.js';
import {
  accountCounterKey,
  apiKeyCounterKey,
  shadowAccountCounterKey,
  shadowApiKeyCounterKey,
} from '../../redis/keys.js';
import {
  ANY_ROOM,
  type CounterReading,
  type CounterStore,
  type ExactCount,
  type Refund,
  type MinuteRoom,
  type MonthSet,
  type MonthSource,
  type WrittenCount,
  type WrittenMonth,
} from '../model/counter-store.js';
import { Counter } from './counter.js';
import { decisionFor } from '../model/decision.js';
import { PASSING_SINK, type DecisionSink } from '../model/decision-sink.js';
import type { FlushRounds } from '../model/flush-rounds.js';
import { IdleReaper } from './idle-reaper.js';
import type { MonthCalendar, MonthPeriod } from '../model/month-period.js';
import { MINUTE_BUCKETS, roomFor, type QuotaCounts, type QuotaDecision } from '../model/policies.js';
import type { QuotaSubject } from '../model/subject.js';
import { RingPool } from './ring-pool.js';
import { SingleFlight } from './single-flight.js';

/** Counters of each kind that one look of the reapers goes through: well under a millisecond. */
const REAPED_AT_ONCE = 5_000;
/** `usedInFlush` of counters that are written nowhere, those of shadow limits: without them nothing knows what their month held. */
const NEVER_WRITTEN = Infinity;
/** So long those are kept: until their month has surely ended. */
const SHADOW_KEPT_SECONDS = 32 * 86_400;

export class ProcessCounters implements CounterStore {
  private readonly accounts = new Map<string, Counter>();
  private readonly keys = new Map<string, Counter>();
  private readonly seeding = new SingleFlight();
  /** When a counter was last set, and which month of it: what was counted until then is not refunded from that. */
  private readonly lastSets = new WeakMap<Counter, { readonly month: number; readonly atMs: number }>();
  /** Time of the last observation or set. A set is later than what was observed before it, also within a millisecond. */
  private latestMs = 0;
  private rings = new RingPool();
  private readonly reapers = [new IdleReaper(this.accounts), new IdleReaper(this.keys)];
  private reaped = 0;

  constructor(
    private readonly clock: Clock,
    private readonly source: MonthSource,
    private readonly reportAs: 'store' | 'local' = 'store',
    /** How far the counts have been written; without it no counter is ever reaped. */
    private readonly flushes?: FlushRounds,
    private readonly sink: DecisionSink = PASSING_SINK,
  ) {}

  /** Accounts and keys that have a counter here. */
  get size(): { readonly accounts: number; readonly keys: number } {
    return { accounts: this.accounts.size, keys: this.keys.size };
  }

  /**
   * Reaps counters that nobody has used for two minutes and whose month stands in the database, from where they come back
   * with the next request. Those of shadow limits stay for a month. Call it every second or so: it looks at some of them only.
   */
  reapIdle(): void {
    const { flushes } = this;
    if (flushes === undefined) return;
    const bucket = Math.floor(this.clock.now() / 1_000);
    const mayGo = (counter: Counter): boolean => {
      const isShadow = counter.usedInFlush === NEVER_WRITTEN;
      if (!counter.isIdle(isShadow ? bucket - SHADOW_KEPT_SECONDS : bucket)) return false;
      if (!isShadow && counter.usedInFlush >= flushes.written) return false;
      counter.release();
      this.reaped += 1;
      return true;
    };
    for (const reaper of this.reapers) reaper.run(REAPED_AT_ONCE, mayGo);
  }

  decide(subject: QuotaSubject, cost: number): QuotaDecision | Promise<QuotaDecision> {
    const nowMs = this.clock.now();
    const period = subject.calendar.at(nowMs);
    const account = this.accounts.get(subject.accountCounterKey);
    const key = this.keys.get(subject.keyCounterKey);
    if (account?.knows(period) !== true || key?.knows(period) !== true)
      return this.seedAndDecide(subject, cost, period);
    return this.sink.decided(subject, this.judge(subject, cost, account, key, nowMs, period), this);
  }

  decideFor(waiting: Waiting<QuotaDecision>, subject: QuotaSubject, cost: number): QuotaDecision | undefined {
    return nowOrTold(this.decide(subject, cost), waiting);
  }

  async refund(subject: QuotaSubject, decision: QuotaDecision): Promise<Refund> {
    if (this.flushes !== undefined && !subject.isShadow && !this.has(subject)) {
      // The response took longer than the counters were kept.
      await this.seed(subject.accountId, subject.keyId, subject.calendar.at(this.clock.now()));
    }
    const nowMs = this.clock.now();
    const period = subject.calendar.at(nowMs);
    const bucket = Math.floor(decision.nowMs / 1_000);
    const account = this.accounts.get(subject.accountCounterKey);
    const key = this.keys.get(subject.keyCounterKey);
    let fromMonth = 0;
    for (const counter of [account, key]) {
      fromMonth = 0;
      if (counter === undefined) continue;
      counter.advance(Math.floor(nowMs / 1_000), period);
      if (!subject.isShadow) counter.usedInFlush = this.flushes?.begun ?? 0;
      counter.giveBack(bucket, decision.cost);
      // A later label than its own is one that goes on: the account's billing day was moved back.
      if (counter.month < decision.period.label || counter.month >= decision.period.following) continue;
      const set = this.lastSets.get(counter);
      if (set?.month === counter.month && decision.nowMs <= set.atMs) continue;
      fromMonth = Math.min(decision.cost, counter.used);
      counter.used -= fromMonth;
    }
    return { fromMonth, accountMonth: account?.used ?? 0, keyMonth: key?.used ?? 0, nowMs };
  }

  async read(
    accountId: string,
    keyId: string | undefined,
    calendar: MonthCalendar,
    room: MinuteRoom = ANY_ROOM,
  ): Promise<CounterReading> {
    const names = namesOf(accountId, keyId);
    const period = calendar.at(this.clock.now());
    const isKnown = this.accounts.get(names.account)?.knows(period) === true;
    if (!isKnown || (names.key !== undefined && this.keys.get(names.key)?.knows(period) !== true)) {
      await this.seed(accountId, keyId, period);
    }
    return this.readingOf(names, calendar, room);
  }

  /** Counts as they stand here, without creating a counter: 0 where there is none. */
  peek(
    accountId: string,
    keyId: string | undefined,
    calendar: MonthCalendar,
    room: MinuteRoom = ANY_ROOM,
  ): CounterReading {
    return this.readingOf(namesOf(accountId, keyId), calendar, room);
  }

  async readShadow(
    accountId: string,
    keyId: string | undefined,
    calendar: MonthCalendar,
    live: QuotaCounts,
    room: MinuteRoom = ANY_ROOM,
  ): Promise<CounterReading> {
    const names = {
      account: shadowAccountCounterKey(accountId),
      key: keyId && shadowApiKeyCounterKey(accountId, keyId),
    };
    const reading = this.readingOf(names, calendar, room);
    const accountMonth = this.accounts.has(names.account) ? reading.used.accountMonth : live.accountMonth;
    const keyMonth = names.key !== undefined && this.keys.has(names.key) ? reading.used.keyMonth : live.keyMonth;
    return { ...reading, used: { ...reading.used, accountMonth, keyMonth } };
  }

  private readingOf(
    names: { account: string; key: string | undefined },
    calendar: MonthCalendar,
    room: MinuteRoom,
  ): CounterReading {
    const nowMs = this.clock.now();
    const period = calendar.at(nowMs);
    const [account, key] = [this.accounts.get(names.account), this.keys.get(names.key ?? '')].map((counter) => {
      counter?.advance(Math.floor(nowMs / 1_000), period);
      return counter?.knows(period) === true ? counter : undefined;
    });
    return {
      nowMs,
      period,
      used: countsOf(account, key),
      accountMinuteResetMs: resetMs(account),
      keyMinuteResetMs: resetMs(key),
      accountFreedAtMs: freedAtMs(account, room.account),
      keyFreedAtMs: freedAtMs(key, room.key),
    };
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
        ? [this.accounts, accountCounterKey(accountId), shadowAccountCounterKey(accountId)]
        : [this.keys, apiKeyCounterKey(accountId, keyId), shadowApiKeyCounterKey(accountId, keyId)];
    const counter = counters.get(name) ?? this.counter(period, 0);
    counters.set(name, counter);
    counter.advance(Math.floor(nowMs / 1_000), period);
    const before = counter.knows(period) ? counter.used : 0;
    for (const each of [counter, counters.get(shadowName)]) {
      if (each === undefined) continue;
      each.advance(Math.floor(nowMs / 1_000), period);
      if (!each.knows(period)) each.turnTo(period.label, used);
      each.usedInFlush = this.flushes?.begun ?? 0;
      each.used = used;
      this.lastSets.set(each, { month: each.month, atMs: nowMs });
    }
    this.latestMs = Math.max(nowMs, this.latestMs + 1);
    return { period, before, used, observedAtMs: this.latestMs };
  }

  /** Puts a subject's counters where its account and its key were last seen, unless they exist. */
  seedFrom(
    { accountCounterKey: account, keyCounterKey: key }: QuotaSubject,
    ofAccount: { readonly counts: QuotaCounts; readonly atMs: number },
    ofKey: { readonly counts: QuotaCounts; readonly atMs: number },
    period: MonthPeriod,
  ): void {
    const { accountMonth, accountMinute } = ofAccount.counts;
    const { keyMonth, keyMinute } = ofKey.counts;
    const accountHere = this.accounts.get(account);
    if (accountHere === undefined) {
      this.accounts.set(account, this.counterFrom(period, accountMonth, ofAccount.atMs, accountMinute));
    } else if (!accountHere.knows(period)) {
      accountHere.turnTo(period.label, accountMonth);
    }
    const keyHere = this.keys.get(key);
    if (keyHere === undefined) this.keys.set(key, this.counterFrom(period, keyMonth, ofKey.atMs, keyMinute));
    else if (!keyHere.knows(period)) keyHere.turnTo(period.label, keyMonth);
  }

  /** Month counts to be written, with the months that they are labelled with; empty where the counters do not exist. */
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

  /** Forgets everything. */
  clear(): void {
    this.accounts.clear();
    this.keys.clear();
    this.rings = new RingPool();
  }

  private judge(
    subject: QuotaSubject,
    cost: number,
    account: Counter,
    key: Counter,
    nowMs: number,
    period: MonthPeriod,
  ): QuotaDecision {
    const bucket = Math.floor(nowMs / 1_000);
    account.advance(bucket, period);
    key.advance(bucket, period);
    account.usedInFlush = key.usedInFlush = subject.isShadow ? NEVER_WRITTEN : (this.flushes?.begun ?? 0);
    const before = countsOf(account, key);
    const admitted = roomFor(subject.limits, before, cost) > 0 ? 1 : 0;
    if (admitted === 1 && cost > 0) {
      account.add(cost);
      account.used += cost;
      key.add(cost);
      key.used += cost;
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
          admitted === 1 ? 0 : account.freedAt(before.accountMinute + cost - subject.limits.accountMinute),
        keyFreedAt: admitted === 1 ? 0 : key.freedAt(before.keyMinute + cost - subject.limits.keyMinute),
      },
      0,
    );
  }

  private seedAndDecide(
    subject: QuotaSubject,
    cost: number,
    period: MonthPeriod,
  ): QuotaDecision | Promise<QuotaDecision> {
    const { startsFrom, accountCounterKey: account, keyCounterKey: key } = subject;
    if (startsFrom !== undefined) {
      const { account: used, key: keyUsed } = startsFrom;
      this.create([account, key], startsFrom.period, [
        { used, later: [] },
        { used: keyUsed, later: [] },
      ]);
      return this.decide(subject, cost);
    }
    return this.seed(subject.accountId, subject.keyId, period).then(
      () => this.decide(subject, cost),
      (error: unknown) => this.sink.failed(subject, cost, error),
    );
  }

  /** Creates the missing counters from the database, and takes a missing month from there. Whoever comes second leaves them as they are. */
  private seed(accountId: string, keyId: string | undefined, period: MonthPeriod): Promise<void> {
    return this.seeding.run(`${accountId}/${keyId ?? ''}/${period.label}`, async () => {
      let reaped: number;
      let used: WrittenMonth;
      do {
        ({ reaped } = this);
        used = await this.source.usedInMonth(accountId, keyId, period);
        // What was reaped meanwhile may have counted, and been written, after this was read.
      } while (reaped !== this.reaped);
      const { account, key } = namesOf(accountId, keyId);
      this.create([account, key], period, [used.account, used.key]);
    });
  }

  private has({ accountCounterKey: account, keyCounterKey: key }: QuotaSubject): boolean {
    return this.accounts.has(account) && this.keys.has(key);
  }

  /** Creates the counters of an account and a key that do not exist, and brings those to a month that do not know it. */
  private create(
    [account, key]: readonly [string, string | undefined],
    period: MonthPeriod,
    [ofAccount, ofKey]: readonly [WrittenCount, WrittenCount],
  ): void {
    this.createIn(this.accounts, account, period, ofAccount);
    if (key !== undefined) this.createIn(this.keys, key, period, ofKey);
  }

  private createIn(counters: Map<string, Counter>, name: string, period: MonthPeriod, written: WrittenCount): void {
    let counter = counters.get(name);
    if (counter === undefined) counters.set(name, (counter = this.counter(period, written.used)));
    else if (!counter.knows(period)) counter.turnTo(period.label, written.used);
    for (const count of written.later) counter.learn(count);
  }

  private counter({ label }: MonthPeriod, used: number): Counter {
    const counter = new Counter(this.rings, label, used);
    counter.usedInFlush = this.flushes?.begun ?? 0;
    return counter;
  }

  private counterFrom(period: MonthPeriod, used: number, seenAtMs: number, minuteUsed: number): Counter {
    const counter = this.counter(period, used);
    counter.slideTo(Math.floor(seenAtMs / 1_000));
    if (minuteUsed > 0) counter.add(minuteUsed);
    return counter;
  }
}

function namesOf(accountId: string, keyId: string | undefined): { account: string; key: string | undefined } {
  return { account: accountCounterKey(accountId), key: keyId && apiKeyCounterKey(accountId, keyId) };
}

function countsOf(account: Counter | undefined, key: Counter | undefined): QuotaCounts {
  return {
    keyMinute: key?.sum ?? 0,
    accountMinute: account?.sum ?? 0,
    accountMonth: account?.used ?? 0,
    keyMonth: key?.used ?? 0,
  };
}

function resetMs(counter: Counter | undefined): number {
  if (counter === undefined || counter.sum === 0) return 0;
  return (counter.oldest + MINUTE_BUCKETS) * 1_000;
}

function freedAtMs(counter: Counter | undefined, room: number): number {
  const over = (counter?.sum ?? 0) - room;
  return counter === undefined || over <= 0 ? 0 : counter.freedAt(over) * 1_000;
}
