/**
 * The subject of a quota: a key and its account, and the limits that apply. Every key in memory has one, so each field
 * exists a hundred thousand times (test/performance/used-keys.spec.ts). Whatever keys have in common is in their terms.
 */
import {
  accountCounterKey,
  apiKeyCounterKey,
  shadowAccountCounterKey,
  shadowApiKeyCounterKey,
} from '../../stores/redis/keys.js';
import type { CalendarCount } from './calendar-count.js';
import { NO_PERIOD, type MonthCalendar, type MonthPeriod } from './month-period.js';
import { ACCOUNT_DAY, KEY_DAY } from '../../platform/quotas/windows.js';
import {
  countsWith,
  type Charge,
  type OnStoreLoss,
  type QuotaCounts,
  type QuotaDecision,
  type QuotaLimits,
} from './policies.js';
import type { UsageCell } from './usage-cell.js';

/**
 * QuotaTerms holds the limits and settings of all keys with one plan and calendar, and cached texts derived from them.
 */
export class QuotaTerms {
  /** Cached value of `RateLimit-Policy`, and the period it was written for. */
  policyField = '';
  policyFieldPeriod: MonthPeriod = NO_PERIOD;
  /** Cached arguments of the Redis script for one request that costs 1, and the period they were written for. */
  limitsText = '';
  limitsTextPeriod: MonthPeriod = NO_PERIOD;

  constructor(
    readonly limits: QuotaLimits,
    readonly onStoreLoss: OnStoreLoss,
    /** Gives the accounts' months, and the time zone of their reset times. */
    readonly calendar: MonthCalendar,
    readonly charge: Charge = 'all',
  ) {}
}

/**
 * QuotaSubject is a key as the quota sees it: its account, its terms, and the counts last seen. Each cached key has
 * one, so its fields exist a hundred thousand times (decision 0028). Only the counts last seen change. Every field is
 * initialized to keep one hidden class.
 */
export class QuotaSubject {
  /** When a store last reported counts (ms), and their period. `NO_PERIOD` if none has. */
  lastSeenAtMs = 0;
  private lastSeenPeriod = NO_PERIOD;
  /**
   * Last reported count of each window, by its index. Separate fields, because an array would take more memory per key.
   */
  private seen0 = 0;
  private seen1 = 0;
  private seen2 = 0;
  private seen3 = 0;
  private seen4 = 0;
  private seen5 = 0;
  /** Label of the month whose counts changed since they were last written to the database; 0 if none. */
  dirtyMonth = 0;
  /** First cell of the usage that has not been written yet. The other cells are chained to it. */
  usage: UsageCell | undefined = undefined;
  /** Open group of requests that wait to be decided together. It belongs to the store. */
  openGroup: object | undefined = undefined;
  private rare: RarelyHeld | undefined = undefined;

  constructor(
    readonly accountId: string,
    readonly keyId: string,
    readonly terms: QuotaTerms,
    /** The subject for the plan's shadow limits. Undefined if the plan has none. */
    readonly shadow: ShadowSubject | undefined = undefined,
  ) {}

  get isShadow(): boolean {
    return false;
  }

  get limits(): QuotaLimits {
    return this.terms.limits;
  }

  get onStoreLoss(): OnStoreLoss {
    return this.terms.onStoreLoss;
  }

  get calendar(): MonthCalendar {
    return this.terms.calendar;
  }

  get charge(): Charge {
    return this.terms.charge;
  }

  /** Initial counts of counters that do not exist yet. Undefined: take them from the database. */
  get startsFrom(): CounterStart | undefined {
    return undefined;
  }

  /** Redis key of the account's counter. Built on demand, because decisions in Redis write the names without it. */
  get accountCounterKey(): string {
    return this.counterNames().account;
  }

  get keyCounterKey(): string {
    return this.counterNames().key;
  }

  private counterNames(): CounterNames {
    this.rare ??= new RarelyHeld();
    return (this.rare.names ??= this.makeNames());
  }

  protected makeNames(): CounterNames {
    return { account: accountCounterKey(this.accountId), key: apiKeyCounterKey(this.accountId, this.keyId) };
  }

  /** State of the month's limits. Undefined for most keys, which stay far below them. */
  get reached(): ReachedLimits | undefined {
    return this.rare?.reached;
  }

  /** Returns the state of the month's limits for writing, and creates it if needed. */
  reachedLimits(): ReachedLimits {
    this.rare ??= new RarelyHeld();
    return (this.rare.reached ??= { noticed: 0, noticedMonth: 0, refusedMonth: 0 });
  }

  /** The last refusal, which answers further requests without asking the store. */
  get refusal(): RememberedRefusal | undefined {
    return this.rare?.refusal;
  }

  set refusal(refusal: RememberedRefusal | undefined) {
    if (this.rare === undefined && refusal === undefined) return;
    this.rare ??= new RarelyHeld();
    this.rare.refusal = refusal;
  }

  /**
   * Returns the last counts that a store reported in a month. A node continues from them when the store is lost. Counts
   * of a day that is over are 0. Returns undefined if no counts were reported in this month.
   */
  lastSeenIn({ label, day }: MonthPeriod): QuotaCounts | undefined {
    const { lastSeen } = this;
    if (lastSeen === undefined || this.lastSeenMonth !== label) return undefined;
    return this.lastSeenDay === day.label ? lastSeen : countsWith(lastSeen, { [ACCOUNT_DAY]: 0, [KEY_DAY]: 0 });
  }

  /** Label of the month of the last counts; 0 if there are none. */
  get lastSeenMonth(): number {
    return this.lastSeenPeriod.label;
  }

  get lastSeenDay(): number {
    return this.lastSeenPeriod.day.label;
  }

  /** The last counts that a store reported, for `lastSeenMonth` and `lastSeenDay`. */
  get lastSeen(): QuotaCounts | undefined {
    if (this.lastSeenMonth === 0) return undefined;
    return [this.seen0, this.seen1, this.seen2, this.seen3, this.seen4, this.seen5];
  }

  /**
   * Records the counts that a store reported at an instant (ms) of a month and a day. Hot path: it copies the numbers
   * and does not keep the object, see decision 0028.
   */
  recordSeen(counts: Readonly<QuotaCounts>, atMs: number, period: MonthPeriod): void {
    this.seen0 = unboxed(counts[0]);
    this.seen1 = unboxed(counts[1]);
    this.seen2 = unboxed(counts[2]);
    this.seen3 = unboxed(counts[3]);
    this.seen4 = unboxed(counts[4]);
    this.seen5 = unboxed(counts[5]);
    this.lastSeenAtMs = atMs;
    this.lastSeenPeriod = period;
  }
}

/** Returns the same number as a small integer if it fits 32 bits, see decision 0028. */
export function unboxed(value: number): number {
  const whole = value | 0;
  return whole === value ? whole : value;
}

/** RarelyHeld holds fields that almost no subject needs while its counters are in Redis. */
class RarelyHeld {
  names: CounterNames | undefined = undefined;
  reached: ReachedLimits | undefined = undefined;
  refusal: RememberedRefusal | undefined = undefined;
}

interface CounterNames {
  readonly account: string;
  readonly key: string;
}

/** ReachedLimits records the notices given for a month's limits, and whether one of these limits refused a request. */
export interface ReachedLimits {
  /** Bits of the notices that are known to be in the database, and the month they belong to. */
  noticed: number;
  noticedMonth: number;
  /** Label of the month in which a month limit refused a request; 0 if none. */
  refusedMonth: number;
}

/** RememberedRefusal is a refusal, and when it was received (ms, by this node's clock). */
export interface RememberedRefusal {
  readonly decision: QuotaDecision;
  readonly atMs: number;
}

/**
 * ShadowSubject is a key under shadow limits, which refuse nothing. It has its own counters. They hold only what the
 * shadow limits would have admitted. With the live counts, a candidate below the live limit would look used up
 * permanently.
 */
export class ShadowSubject extends QuotaSubject {
  private start: CounterStart | undefined;

  constructor(
    accountId: string,
    keyId: string,
    /** The plan that it belongs to. */
    readonly plan: string,
    terms: QuotaTerms,
  ) {
    super(accountId, keyId, terms);
  }

  override get isShadow(): boolean {
    return true;
  }

  override get startsFrom(): CounterStart | undefined {
    return this.start;
  }

  override set startsFrom(start: CounterStart | undefined) {
    this.start = start;
  }

  protected override makeNames(): CounterNames {
    const { accountId, keyId } = this;
    return { account: shadowAccountCounterKey(accountId), key: shadowApiKeyCounterKey(accountId, keyId) };
  }
}

/** CounterStart holds the initial counts of an account and a key in a period. */
export interface CounterStart {
  readonly period: MonthPeriod;
  readonly account: CalendarCount;
  readonly key: CalendarCount;
}
