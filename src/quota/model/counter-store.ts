/**
 * Defines the interface of the stores for live counters. Counters are in this process, in Redis, or in the counting
 * process. One contract test suite checks all three.
 */
import type { ResultReceiver } from '../../platform/callbacks.js';
import type { Decider } from './decision-sink.js';
import type { MonthCalendar, MonthPeriod } from './month-period.js';
import type { CalendarCount, DayCount } from './calendar-count.js';
import type { OutageEntry } from './outage-log.js';
import type { QuotaCounts, QuotaDecision } from './policies.js';
import type { QuotaSubject } from './subject.js';

/** CounterReading holds the counts of an account and a key, read without counting a request. */
export interface CounterReading {
  readonly nowMs: number;
  readonly period: MonthPeriod;
  readonly used: Readonly<QuotaCounts>;
  /** When the oldest usage leaves the minute windows, in ms of the store's time. 0 if nothing is used. */
  readonly keyMinuteResetMs: number;
  readonly accountMinuteResetMs: number;
  /**
   * When the minute windows have the requested room (`MinuteRoom`), in ms of the store's time. 0 if they have it now.
   * One whole window from now if they can never have it.
   */
  readonly keyFreedAtMs: number;
  readonly accountFreedAtMs: number;
}

/** CalendarSeen holds the calendar counts of a key and its account. `nowMs` is the store's time of the reading. */
export interface CalendarSeen {
  readonly account: CalendarCount;
  readonly key: CalendarCount;
  /** The period of the counts. */
  readonly period: MonthPeriod;
  readonly nowMs: number;
}

/** Refund holds the refunded amount, and the counts after the refund. */
export interface Refund extends CalendarSeen {
  /**
   * Amount that the key's month got back. 0 if that month has ended, or if an operator has set its count since the cost
   * was counted.
   */
  readonly fromMonth: number;
}

/** MinuteRoom is the highest usage of each minute window at which one more request fits. */
export interface MinuteRoom {
  readonly account: number;
  readonly key: number;
}

export const ANY_ROOM: MinuteRoom = { account: Number.MAX_SAFE_INTEGER, key: Number.MAX_SAFE_INTEGER };

/** MonthSet is the result of setting a month's count. `before` is the count before the change. */
export interface MonthSet {
  readonly period: MonthPeriod;
  readonly before: number;
  /** Usage at `observedAtMs`, which is the value that was set plus the costs that were counted since. */
  readonly used: number;
  /** Store's time, in ms. `used` contains or replaces all counts that were observed earlier. */
  readonly observedAtMs: number;
}

/** CounterStore counts requests, decides whether they fit under their limits, and reads usage. */
export interface CounterStore extends Decider {
  /**
   * Checks one request against every window of its key and account, in one atomic step. Either all windows admit and
   * count the request, or at least one window refuses it and no window counts it. A refusal is a decision, not an
   * error. The store reports every decision and failure to its sink. The result is the decision that the sink returns.
   * Rejects if the sink throws or rejects, for example because the counters cannot be reached.
   */
  decide(subject: QuotaSubject, cost: number): QuotaDecision | Promise<QuotaDecision>;
  /**
   * Decides like `decide`, without a promise. Returns undefined if the decision is not known yet, and passes it to
   * `waiting` later.
   */
  decideFor(waiting: ResultReceiver<QuotaDecision>, subject: QuotaSubject, cost: number): QuotaDecision | undefined;
  /**
   * Refunds the cost of an admitted decision in every window that still contains the cost. Call it at most once per
   * decision. Rejects if the counters cannot be reached.
   */
  refund(subject: QuotaSubject, decision: QuotaDecision): Promise<Refund>;
  /**
   * Sets the usage of the current month for a key, or for the account if `keyId` is undefined. Also sets the shadow
   * counter if it exists. The minute and the day keep their counts. Rejects if the change failed or its result is
   * unknown.
   */
  setMonthUsed(accountId: string, keyId: string | undefined, calendar: MonthCalendar, used: number): Promise<MonthSet>;
  /**
   * Reads the current counts. Without `keyId`, reads only the account's counts.
   * @param room for `keyFreedAtMs` and `accountFreedAtMs`.
   */
  read(
    accountId: string,
    keyId: string | undefined,
    calendar: MonthCalendar,
    room?: MinuteRoom,
  ): Promise<CounterReading>;
  /**
   * Reads the current counts of the shadow counters.
   * @param live counts to use for shadow counters that do not exist yet.
   */
  readShadow(
    accountId: string,
    keyId: string | undefined,
    calendar: MonthCalendar,
    live: Readonly<QuotaCounts>,
    room?: MinuteRoom,
  ): Promise<CounterReading>;
}

/** LosableStore is a store whose counters can be lost, with the operations that restore them. */
export interface LosableStore extends CounterStore {
  /** The store's clock minus this node's, in milliseconds. */
  readonly aheadMs: number;
  /** Reports whether there are calls whose result is unknown. */
  readonly isUnsure: boolean;
  /**
   * Refunds the costs that calls with an unknown result counted. The requests of these calls were decided without the
   * store. Each call is refunded once, even if this method is called again. Resolves to false while one of the calls
   * can still run. Rejects while the store does not respond.
   */
  refundUnanswered(): Promise<boolean>;
  /**
   * Counts requests that a node admitted while the store was unavailable. Each entry is counted once, even if this
   * method is called again. Resolves to the calendar counts afterwards. Rejects if the entry's result is unknown.
   */
  replay(entry: OutageEntry): Promise<CalendarSeen>;
}

/** MonthCount is the usage of one month. `month` is the month's label, such as 20261101. */
export interface MonthCount {
  readonly month: number;
  readonly used: number;
}

/** ExactCount is a month count of the counters in this process. */
export interface ExactCount extends MonthCount {
  readonly of: 'account' | 'key';
  /** Count of the current day. Undefined for a month that is over. */
  readonly day?: DayCount;
  /** When the count was observed, in ms by this process's clock. */
  readonly observedAtMs: number;
}

/** WrittenCount is a month count as stored in the database. */
export interface WrittenCount {
  readonly used: number;
  /** When the count was observed, by the counters' clock, in ms with a fraction. Undefined if unknown. */
  readonly observedAtMs?: number;
  /** When an operator set the count, by the counters' clock, in ms. 0 or undefined if never. */
  readonly setAtMs?: number;
  /** The day of the observation, and the usage of that day. Undefined if unknown. */
  readonly day?: DayCount;
  /** Counts of future months, written by a node whose clock ran ahead. Nearly always empty. */
  readonly later: readonly MonthCount[];
}

export const NOTHING_WRITTEN: WrittenCount = { used: 0, later: [] };

/** Returns the usage of a period according to the database. The usage of an unknown day is 0. */
export function writtenIn({ used, day }: WrittenCount, period: MonthPeriod): CalendarCount {
  return { used, usedToday: day?.day === period.day.label ? day.used : 0 };
}

/** Converts the counts of a period to the form of the database. */
export function asWritten({ used, usedToday }: CalendarCount, period: MonthPeriod): WrittenCount {
  return { used, day: { day: period.day.label, used: usedToday }, later: [] };
}

/** WrittenMonth holds the month counts of an account and a key as stored in the database. */
export interface WrittenMonth {
  readonly account: WrittenCount;
  readonly key: WrittenCount;
}

/** MonthSource provides month counts for counters that do not exist yet. The database implements it. */
export interface MonthSource {
  /**
   * Reads the usage of the account and the key in the period. A count without a row in the database is 0. Rejects if
   * the database is unavailable.
   */
  usedInMonth(accountId: string, keyId: string | undefined, period: MonthPeriod): Promise<WrittenMonth>;
}
