/** The interface of stores for live counters. The process and Redis implement it; one contract suite tests both. */
import type { Waiting } from '../../platform/waiting.js';
import type { Decider } from './decision-sink.js';
import type { MonthCalendar, MonthPeriod } from './month-period.js';
import type { CalendarCount, DayCount } from './calendar-count.js';
import type { OutageEntry } from './outage-log.js';
import type { QuotaCounts, QuotaDecision } from './policies.js';
import type { QuotaSubject } from './subject.js';

/** CounterReading holds the counts of an account or a key, read without counting. */
export interface CounterReading {
  readonly nowMs: number;
  readonly period: MonthPeriod;
  readonly used: Readonly<QuotaCounts>;
  /** When the minute windows next free some usage, in ms of the store's time. 0 if nothing is used. */
  readonly keyMinuteResetMs: number;
  readonly accountMinuteResetMs: number;
  /**
   * When the minute windows have the requested room, in ms of the store's time. 0 if they have it now; one whole window
   * from now if they can never have it.
   */
  readonly keyFreedAtMs: number;
  readonly accountFreedAtMs: number;
}

/** CalendarSeen holds the calendar counts of a key and its account, and the store's time at which they were read. */
export interface CalendarSeen {
  readonly account: CalendarCount;
  readonly key: CalendarCount;
  /** The period of the counts. */
  readonly period: MonthPeriod;
  readonly nowMs: number;
}

/** Refund is the result of a refund: the refunded amount, and the counts after it. */
export interface Refund extends CalendarSeen {
  /** Amount that the key's month refunded. 0 if that month has ended or was reset since. */
  readonly fromMonth: number;
}

/** MinuteRoom is the highest usage of each minute window at which one more request fits. */
export interface MinuteRoom {
  readonly account: number;
  readonly key: number;
}

export const ANY_ROOM: MinuteRoom = { account: Number.MAX_SAFE_INTEGER, key: Number.MAX_SAFE_INTEGER };

/** MonthSet is the result of setting a month's count. */
export interface MonthSet {
  readonly period: MonthPeriod;
  readonly before: number;
  /** Usage at `observedAtMs`: the value that was set, plus everything counted since. */
  readonly used: number;
  /** Store's time, ms. Earlier observations were made before the set, or are contained in `used`. */
  readonly observedAtMs: number;
}

/** CounterStore is a store for live counters: it decides, refunds, reads and sets. */
export interface CounterStore extends Decider {
  /**
   * Checks one request against every window of its key and account in one atomic step. Either all windows admit and
   * count it, or one refuses and none counts. Rejects when the counters cannot be reached; a refusal is a decision, not
   * a rejection. The store reports every decision and failure to its sink. The request gets what the sink returns.
   */
  decide(subject: QuotaSubject, cost: number): QuotaDecision | Promise<QuotaDecision>;
  /**
   * Decides like `decide`, without a promise. Returns undefined if the decision is not known yet, and passes it to
   * `waiting` later.
   */
  decideFor(waiting: Waiting<QuotaDecision>, subject: QuotaSubject, cost: number): QuotaDecision | undefined;
  /** Refunds an admitted decision in every window that still holds it. Call it at most once per decision. */
  refund(subject: QuotaSubject, decision: QuotaDecision): Promise<Refund>;
  /**
   * Sets the usage of the current month for a key, or for the account if `keyId` is undefined. Also sets the shadow
   * counter. The minute window keeps its count. Rejects when the change failed, or when its result is unknown.
   */
  setMonthUsed(accountId: string, keyId: string | undefined, calendar: MonthCalendar, used: number): Promise<MonthSet>;
  /** Reads the current counts. Without `keyId`, it reads only the account's. */
  read(
    accountId: string,
    keyId: string | undefined,
    calendar: MonthCalendar,
    room?: MinuteRoom,
  ): Promise<CounterReading>;
  /**
   * Reads the current counts of the shadow counters.
   * @param live counts that stand in for shadow counters that do not exist yet.
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
   * Refunds what calls with an unknown result counted: their requests were decided without the store. Refunds each call
   * once, however often it is called. Resolves to false while one of the calls can still run. Rejects while the store
   * does not respond.
   */
  refundUnanswered(): Promise<boolean>;
  /**
   * Counts requests that a node admitted while the store was away. Counts each entry once, however often it is called.
   * Resolves to the month counts after it.
   */
  replay(entry: OutageEntry): Promise<CalendarSeen>;
}

/** MonthCount is a usage count with the label of its month. */
export interface MonthCount {
  readonly month: number;
  readonly used: number;
}

/** ExactCount is a month count of this process's own counters. */
export interface ExactCount extends MonthCount {
  readonly of: 'account' | 'key';
  /** Count of the current day. Undefined for a month that is over. */
  readonly day?: DayCount;
  /** When the count was observed, in milliseconds. */
  readonly observedAtMs: number;
}

/** WrittenCount is a month count as the database has it. */
export interface WrittenCount {
  readonly used: number;
  /** When the count was observed, by the counters' clock, in ms with a fraction. Undefined if unknown. */
  readonly observedAtMs?: number;
  /** When an operator set the count, by the counters' clock, in ms. 0 or undefined if never. */
  readonly setAtMs?: number;
  /** The day of the observation, and that day's usage. Undefined if unknown. */
  readonly day?: DayCount;
  /** Counts of future months, written by a node whose clock ran ahead. Nearly always empty. */
  readonly later: readonly MonthCount[];
}

export const NOTHING_WRITTEN: WrittenCount = { used: 0, later: [] };

/** Returns the usage of a period in the database. The usage of an unknown day is 0. */
export function writtenIn({ used, day }: WrittenCount, period: MonthPeriod): CalendarCount {
  return { used, usedToday: day?.day === period.day.label ? day.used : 0 };
}

/** Returns the counts of a period in the form that the database has. */
export function asWritten({ used, usedToday }: CalendarCount, period: MonthPeriod): WrittenCount {
  return { used, day: { day: period.day.label, used: usedToday }, later: [] };
}

/** WrittenMonth holds the month counts of an account and a key as the database has them. */
export interface WrittenMonth {
  readonly account: WrittenCount;
  readonly key: WrittenCount;
}

/** MonthSource provides month counts for counters that do not exist yet. The database implements it. */
export interface MonthSource {
  /** Reads the usage of the account and the key in the period; 0 if unknown. Rejects when the database is away. */
  usedInMonth(accountId: string, keyId: string | undefined, period: MonthPeriod): Promise<WrittenMonth>;
}
