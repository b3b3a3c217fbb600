/**
 * Whose requests are counted, and against what. There is one subject for every key in memory, so each of its fields is
 * held a hundred thousand times (test/performance/used-keys.spec.ts); what keys have in common stands in their
 * terms.
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
 * What the keys of one plan and calendar are judged by, and the texts that follow from it: one object for all of them.
 */
export class QuotaTerms {
  /** `RateLimit-Policy`, and the period that it was written for. */
  policyField = '';
  policyFieldPeriod: MonthPeriod = NO_PERIOD;
  /**
   * One request that costs 1, and the limits, as the script in Redis reads them, and the period that they were written
   * for.
   */
  limitsText = '';
  limitsTextPeriod: MonthPeriod = NO_PERIOD;

  constructor(
    readonly limits: QuotaLimits,
    readonly onStoreLoss: OnStoreLoss,
    /** The accounts' months, and the zone in which they read their reset times. */
    readonly calendar: MonthCalendar,
    readonly charge: Charge = 'all',
  ) {}
}

/**
 * QuotaSubject is a key as far as it is counted: whose it is, its terms, and what was last seen of its counters. Built
 * once per cached key, so what it holds is held a hundred thousand times (decision 0028); immutable but for what it
 * last saw. Every field has a value from the beginning.
 */
export class QuotaSubject {
  /** When a store last reported counts (ms), and their period; `NO_PERIOD`: none has. */
  lastSeenAtMs = 0;
  private lastSeenPeriod = NO_PERIOD;
  /** The counts of each window then, by its index. Fields, because an array takes more memory of every key. */
  private seen0 = 0;
  private seen1 = 0;
  private seen2 = 0;
  private seen3 = 0;
  private seen4 = 0;
  private seen5 = 0;
  /** Label of the month whose counts have changed since they were last written to the database; 0: none. */
  dirtyMonth = 0;
  /** What its requests came to since it was last written: the first of its cells, which hold the others. */
  usage: UsageCell | undefined = undefined;
  /** The requests that wait to be decided together; belongs to the store. */
  openGroup: object | undefined = undefined;
  private rare: RarelyHeld | undefined = undefined;

  constructor(
    readonly accountId: string,
    readonly keyId: string,
    readonly terms: QuotaTerms,
    /** The same requests against the plan's shadow limits; undefined where it has none. */
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

  /** Where its counters begin when they do not exist; undefined: at what the database knows. */
  get startsFrom(): CounterStart | undefined {
    return undefined;
  }

  /** Names of its counters. Made when they are asked for: a decision in Redis writes them by itself. */
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

  /** What became of a month's limits; most keys stay far below them. */
  get reached(): ReachedLimits | undefined {
    return this.rare?.reached;
  }

  /** The same, for whoever notes something in it. */
  reachedLimits(): ReachedLimits {
    this.rare ??= new RarelyHeld();
    return (this.rare.reached ??= { noticed: 0, noticedMonth: 0, refusedMonth: 0 });
  }

  /** The last refusal: it holds for the next requests without asking. */
  get refusal(): RememberedRefusal | undefined {
    return this.rare?.refusal;
  }

  set refusal(refusal: RememberedRefusal | undefined) {
    if (this.rare === undefined && refusal === undefined) return;
    this.rare ??= new RarelyHeld();
    this.rare.refusal = refusal;
  }

  /**
   * The last counts that a store reported in a month: where a node goes on from when the store is lost. Those of a day
   * that is over are 0; undefined: none were reported in this month.
   */
  lastSeenIn({ label, day }: MonthPeriod): QuotaCounts | undefined {
    const { lastSeen } = this;
    if (lastSeen === undefined || this.lastSeenMonth !== label) return undefined;
    return this.lastSeenDay === day.label ? lastSeen : countsWith(lastSeen, { [ACCOUNT_DAY]: 0, [KEY_DAY]: 0 });
  }

  /** Labels of the month and the day of the last counts; 0: there are none. */
  get lastSeenMonth(): number {
    return this.lastSeenPeriod.label;
  }

  get lastSeenDay(): number {
    return this.lastSeenPeriod.day.label;
  }

  /** The last counts that a store reported, of `lastSeenMonth` and `lastSeenDay`. */
  get lastSeen(): QuotaCounts | undefined {
    if (this.lastSeenMonth === 0) return undefined;
    return [this.seen0, this.seen1, this.seen2, this.seen3, this.seen4, this.seen5];
  }

  /**
   * Keeps what a store reported, at an instant (ms) of a month and a day. On the request path: the numbers and not the object,
   * see decision 0028.
   */
  see(counts: Readonly<QuotaCounts>, atMs: number, period: MonthPeriod): void {
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

/** The same number, small where it has 32 bits: see decision 0028. */
export function unboxed(value: number): number {
  const whole = value | 0;
  return whole === value ? whole : value;
}

/** What nearly no subject has while its counters are in Redis. */
class RarelyHeld {
  names: CounterNames | undefined = undefined;
  reached: ReachedLimits | undefined = undefined;
  refusal: RememberedRefusal | undefined = undefined;
}

interface CounterNames {
  readonly account: string;
  readonly key: string;
}

/** ReachedLimits says what became of a month's limits: notices that were given, and whether one refused. */
export interface ReachedLimits {
  /** Notices of a month's use that are known to stand in the database, as bits, and the month that they are of. */
  noticed: number;
  noticedMonth: number;
  /** Label of the month in which a month's limit has refused something; 0: none. */
  refusedMonth: number;
}

/** A refusal, and when it came in by this node's clock (ms). */
export interface RememberedRefusal {
  readonly decision: QuotaDecision;
  readonly atMs: number;
}

/**
 * The requests of a key against limits that refuse nothing. It has counters of its own, which hold only what these
 * limits would have admitted: by the live counts, a candidate below the live limit would look used up for ever.
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

/** Counts of an account and a key in a period. */
export interface CounterStart {
  readonly period: MonthPeriod;
  readonly account: CalendarCount;
  readonly key: CalendarCount;
}
