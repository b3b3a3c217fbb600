/** What a place for live counters must do. The process and Redis implement it; one contract suite tests both. */
import type { Waiting } from '../../platform/waiting.js';
import type { Decider } from './decision-sink.js';
import type { MonthCalendar, MonthPeriod } from './month-period.js';
import type { CalendarCount, DayCount } from './calendar-count.js';
import type { OutageEntry } from './outage-log.js';
import type { QuotaCounts, QuotaDecision } from './policies.js';
import type { QuotaSubject } from './subject.js';

/** Counts of an account or a key, read without counting. */
export interface CounterReading {
  readonly nowMs: number;
  readonly period: MonthPeriod;
  readonly used: Readonly<QuotaCounts>;
  /** Milliseconds of the store's time, 0 where nothing is used. */
  readonly keyMinuteResetMs: number;
  readonly accountMinuteResetMs: number;
  /** When the minutes hold no more than was asked for, 0 where they do; a whole window from now where that never is. */
  readonly keyFreedAtMs: number;
  readonly accountFreedAtMs: number;
}

/** Calendar counts of a key and its account, and when they were so (ms of the store's time, with a fraction). */
export interface CalendarSeen {
  readonly account: CalendarCount;
  readonly key: CalendarCount;
  /** The period that they belong to. */
  readonly period: MonthPeriod;
  readonly nowMs: number;
}

/** Result of a refund, and the counts after it. */
export interface Refund extends CalendarSeen {
  /** How much of it the key's month still held: 0 where that month has ended or was reset meanwhile. */
  readonly fromMonth: number;
}

/** The most that the minutes may hold for one more request to fit. */
export interface MinuteRoom {
  readonly account: number;
  readonly key: number;
}

export const ANY_ROOM: MinuteRoom = { account: Number.MAX_SAFE_INTEGER, key: Number.MAX_SAFE_INTEGER };

/** A month count that has been set. */
export interface MonthSet {
  readonly period: MonthPeriod;
  readonly before: number;
  /** Used at `observedAtMs`: what was set, and what has been counted on top of it since. */
  readonly used: number;
  /** Time of the store, ms. What was seen earlier was seen before the set, or is contained in `used`. */
  readonly observedAtMs: number;
}

/** CounterStore is a place for live counters: it decides, refunds, reads and sets. */
export interface CounterStore extends Decider {
  /**
   * Judges one request against every window of its key and account in one atomic step: all admit and all count, or one
   * refuses and none counts. Rejects when the counters cannot be reached; a refusal is a decision, not a rejection.
   * Every decision, and every failure of one, is reported to the sink of the store; what that says is what the request
   * gets.
   */
  decide(subject: QuotaSubject, cost: number): QuotaDecision | Promise<QuotaDecision>;
  /**
   * The same for every request, without a promise: undefined where it is not known at once, then `waiting` is told it.
   */
  decideFor(waiting: Waiting<QuotaDecision>, subject: QuotaSubject, cost: number): QuotaDecision | undefined;
  /** Refunds an admitted decision, in every window that still holds it. Call it at most once per decision. */
  refund(subject: QuotaSubject, decision: QuotaDecision): Promise<Refund>;
  /**
   * Says what is used in the current month: of the key, without one of the account; of its shadow too. The minute
   * stays. Rejects when it has not been done, or when nobody can tell.
   */
  setMonthUsed(accountId: string, keyId: string | undefined, calendar: MonthCalendar, used: number): Promise<MonthSet>;
  /** Counts as they stand. Without a key: the account's only. */
  read(
    accountId: string,
    keyId: string | undefined,
    calendar: MonthCalendar,
    room?: MinuteRoom,
  ): Promise<CounterReading>;
  /** The same of the shadow counters. @param live what those begin with that do not exist yet. */
  readShadow(
    accountId: string,
    keyId: string | undefined,
    calendar: MonthCalendar,
    live: Readonly<QuotaCounts>,
    room?: MinuteRoom,
  ): Promise<CounterReading>;
}

/** Counters that can be lost, and what brings them up to date when they are back. */
export interface LosableStore extends CounterStore {
  /** Their clock minus this node's, milliseconds. */
  readonly aheadMs: number;
  /** Whether there are calls of which nobody knows whether they counted. */
  readonly isUnsure: boolean;
  /**
   * Refunds what such calls counted: their requests were decided without the store. However often it is asked, once.
   * Resolves to false while one of them may still run, rejects while the store does not answer.
   */
  refundUnanswered(): Promise<boolean>;
  /**
   * Counts what a node admitted while this store was away; however often it is asked, once. Resolves to the month
   * counts after it.
   */
  replay(entry: OutageEntry): Promise<CalendarSeen>;
}

/** A count and the label of the month that it belongs to. */
export interface MonthCount {
  readonly month: number;
  readonly used: number;
}

/** A month count of this process's own counters. */
export interface ExactCount extends MonthCount {
  readonly of: 'account' | 'key';
  /** The day that it is in; not of a month that is over. */
  readonly day?: DayCount;
  /** Milliseconds. */
  readonly observedAtMs: number;
}

/** A month count as the database has it. */
export interface WrittenCount {
  readonly used: number;
  /** When that was observed, by the clock of the counters, ms with a fraction; without it nobody knows. */
  readonly observedAtMs?: number;
  /** When an operator set it, by that clock, ms; 0, or without it: never. */
  readonly setAtMs?: number;
  /** The day on which that was observed, and what had been used of it; without it nobody knows. */
  readonly day?: DayCount;
  /** What it has of months to come: a clock ran ahead. Nearly always nothing. */
  readonly later: readonly MonthCount[];
}

export const NOTHING_WRITTEN: WrittenCount = { used: 0, later: [] };

/** Returns the usage of a period in the database. A day that it does not know has none. */
export function writtenIn({ used, day }: WrittenCount, period: MonthPeriod): CalendarCount {
  return { used, usedToday: day?.day === period.day.label ? day.used : 0 };
}

/** Counts of a period in the form of those that the database has. */
export function asWritten({ used, usedToday }: CalendarCount, period: MonthPeriod): WrittenCount {
  return { used, day: { day: period.day.label, used: usedToday }, later: [] };
}

/** Month counts of an account and a key as the database has them. */
export interface WrittenMonth {
  readonly account: WrittenCount;
  readonly key: WrittenCount;
}

/** Where month counts come from when a counter does not exist yet: the database. */
export interface MonthSource {
  /**
   * Reads what is used in the period by the account and by the key, 0 where nothing is known. Rejects when the database
   * is away.
   */
  usedInMonth(accountId: string, keyId: string | undefined, period: MonthPeriod): Promise<WrittenMonth>;
}
