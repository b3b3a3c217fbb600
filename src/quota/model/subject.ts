/**
 * Defines the subject of a quota: a key and its account, with the limits that apply. Every key in memory has a subject,
 * so each field can exist a hundred thousand times (`test/performance/used-keys.spec.ts`). `QuotaTerms` holds the
 * values that many keys share.
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
 * QuotaTerms holds the limits and settings that keys with equal limits, settings and calendar share. It also caches
 * texts that are derived from these values.
 */
export class QuotaTerms {
  /** Cached value of `RateLimit-Policy`, and the period for which it was computed. */
  policyField = '';
  policyFieldPeriod: MonthPeriod = NO_PERIOD;
  /** Cached arguments of the Redis script for one request that costs 1, and the period for which they were computed. */
  limitsText = '';
  limitsTextPeriod: MonthPeriod = NO_PERIOD;

  constructor(
    readonly limits: QuotaLimits,
    readonly onStoreLoss: OnStoreLoss,
    /** Calendar of the accounts: their months and days, and the time zone of their reset times. */
    readonly calendar: MonthCalendar,
    readonly charge: Charge = 'all',
  ) {}
}

/**
 * QuotaSubject is a key as the quota sees it: its account, its terms, and the counts that a store last reported. Each
 * field has an initial value, so that V8 keeps all subjects small and in one hidden class (decision 0028).
 */
export class QuotaSubject {
  /**
   * When a store last reported counts (ms), and the period of these counts. `NO_PERIOD` if no store has reported any.
   */
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
  /** Label of the month whose counts have changed since the last write to the database. 0 if no counts have changed. */
  dirtyMonth = 0;
  /** First cell of the key's usage that the recorder keeps. The other cells are linked from it. */
  usage: UsageCell | undefined = undefined;
  /** Open group of requests that the store will decide together. Only the store uses it. */
  openGroup: object | undefined = undefined;
  private rare: RareFields | undefined = undefined;

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

  /** Initial counts of counters that do not exist yet. If undefined, the database has the initial counts. */
  get startsFrom(): CounterStart | undefined {
    return undefined;
  }

  /**
   * Redis key of the account's counter. Created on demand, because decisions in Redis do not need it
   * (`decision-text.ts`).
   */
  get accountCounterKey(): string {
    return this.counterNames().account;
  }

  get keyCounterKey(): string {
    return this.counterNames().key;
  }

  private counterNames(): CounterNames {
    this.rare ??= new RareFields();
    return (this.rare.names ??= this.makeNames());
  }

  protected makeNames(): CounterNames {
    return { account: accountCounterKey(this.accountId), key: apiKeyCounterKey(this.accountId, this.keyId) };
  }

  /** State of the calendar limits that were reached. Undefined for most keys, which stay far below their limits. */
  get reached(): ReachedLimits | undefined {
    return this.rare?.reached;
  }

  /** Returns the state of the calendar limits for writing. Creates it if needed. */
  reachedLimits(): ReachedLimits {
    this.rare ??= new RareFields();
    return (this.rare.reached ??= { noticed: 0, noticedMonth: 0, refusedMonth: 0 });
  }

  /** The last refusal. Further requests get the same refusal without a call to the store, see `refusal-cache.ts`. */
  get refusal(): RememberedRefusal | undefined {
    return this.rare?.refusal;
  }

  set refusal(refusal: RememberedRefusal | undefined) {
    if (this.rare === undefined && refusal === undefined) return;
    this.rare ??= new RareFields();
    this.rare.refusal = refusal;
  }

  /**
   * Returns the last counts that a store reported in a month. A node continues from these counts while the store is
   * lost. Counts of a day that has ended are 0. Returns undefined if no store reported counts in this month.
   */
  lastSeenIn({ label, day }: MonthPeriod): QuotaCounts | undefined {
    const { lastSeen } = this;
    if (lastSeen === undefined || this.lastSeenMonth !== label) return undefined;
    return this.lastSeenDay === day.label ? lastSeen : countsWith(lastSeen, { [ACCOUNT_DAY]: 0, [KEY_DAY]: 0 });
  }

  /** Label of the month of the last reported counts; 0 if there are none. */
  get lastSeenMonth(): number {
    return this.lastSeenPeriod.label;
  }

  /** Label of the day of the last reported counts; 0 if there are none. */
  get lastSeenDay(): number {
    return this.lastSeenPeriod.day.label;
  }

  /** The last counts that a store reported, in `lastSeenMonth` and `lastSeenDay`. Undefined if there are none. */
  get lastSeen(): QuotaCounts | undefined {
    if (this.lastSeenMonth === 0) return undefined;
    return [this.seen0, this.seen1, this.seen2, this.seen3, this.seen4, this.seen5];
  }

  /**
   * Records the counts that a store reported at an instant (ms) of a month and a day. Hot path. Copies the numbers
   * instead of keeping the array, see decision 0028.
   */
  recordSeen(counts: Readonly<QuotaCounts>, atMs: number, period: MonthPeriod): void {
    this.seen0 = toSmallInteger(counts[0]);
    this.seen1 = toSmallInteger(counts[1]);
    this.seen2 = toSmallInteger(counts[2]);
    this.seen3 = toSmallInteger(counts[3]);
    this.seen4 = toSmallInteger(counts[4]);
    this.seen5 = toSmallInteger(counts[5]);
    this.lastSeenAtMs = atMs;
    this.lastSeenPeriod = period;
  }
}

/**
 * Returns the same number in a form that V8 stores without a separate object, if the number is a 32-bit integer. See
 * decision 0028.
 */
export function toSmallInteger(value: number): number {
  const whole = value | 0;
  return whole === value ? whole : value;
}

/** RareFields holds fields that almost no subject needs while the counters are in Redis. */
class RareFields {
  names: CounterNames | undefined = undefined;
  reached: ReachedLimits | undefined = undefined;
  refusal: RememberedRefusal | undefined = undefined;
}

interface CounterNames {
  readonly account: string;
  readonly key: string;
}

/**
 * ReachedLimits records which usage notices of a month exist, and in which month a calendar limit refused a request.
 */
export interface ReachedLimits {
  /** Bits of the notices that are known to be in the database, and the label of their month. */
  noticed: number;
  noticedMonth: number;
  /** Label of the month in which a month limit or a day limit refused a request; 0 if none did. */
  refusedMonth: number;
}

/** RememberedRefusal is a refusal, and when this node received it (ms, by this node's clock). */
export interface RememberedRefusal {
  readonly decision: QuotaDecision;
  readonly atMs: number;
}

/**
 * ShadowSubject is a key under shadow limits, which refuse nothing. It has its own counters, which count only requests
 * that the shadow limits would have admitted. The live counts would be too high. With these counts, a shadow limit
 * below the live limit would look used up permanently.
 */
export class ShadowSubject extends QuotaSubject {
  private start: CounterStart | undefined;

  constructor(
    accountId: string,
    keyId: string,
    /** The plan that has these shadow limits. */
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
