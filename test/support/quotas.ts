/** Subjects, limits and a source of month counts for quota tests. */
import type { DayCount } from '../../src/quota/model/calendar-count.js';
import type { MonthSource, WrittenMonth } from '../../src/quota/model/counter-store.js';
import { perWindow, WINDOW_NAMES, WINDOWS, type WindowName } from '../../src/platform/quotas/windows.js';
import { calendarOf, type MonthPeriod } from '../../src/quota/model/month-period.js';
import type { OnStoreLoss, QuotaCounts, QuotaLimits } from '../../src/quota/model/policies.js';
import { QuotaSubject, QuotaTerms } from '../../src/quota/model/subject.js';

type FieldName<Name> = Name extends `${infer Of}-${infer Period}` ? `${Of}${Capitalize<Period>}` : never;

/** A number for each window by name, such as `keyMinute`. Tests read easier with names than with an array. */
export type NamedCounts = Record<FieldName<WindowName>, number>;

/** Converts an array of numbers by window to an object by name. */
export function countsByWindow(counts: readonly number[]): NamedCounts {
  return Object.fromEntries(WINDOWS.map((_, index) => [fieldAt(index), counts[index]])) as NamedCounts;
}

/** Returns counts by window. Missing windows get 0. */
export function countsWith(counts: Partial<NamedCounts>): QuotaCounts {
  return perWindow((_, index) => counts[fieldAt(index)] ?? 0) as QuotaCounts;
}

/** Returns limits by window. Missing windows have no limit. */
export function limitsWith(limits: Partial<NamedCounts>): QuotaLimits {
  return perWindow((_, index) => limits[fieldAt(index)] ?? Infinity);
}

export const NO_LIMITS = limitsWith({});

/** Returns the bits of these windows, as in `QuotaDecision.violated`. */
export function bitsOf(...names: readonly WindowName[]): number {
  return names.reduce((bits, name) => bits | (1 << WINDOW_NAMES.indexOf(name)), 0);
}

function fieldAt(index: number): keyof NamedCounts {
  const { of, period } = WINDOWS[index]!;
  return `${of}${period[0]!.toUpperCase()}${period.slice(1)}` as keyof NamedCounts;
}

/** Months in UTC with billing day 1. */
export const UTC_MONTHS = calendarOf('UTC', 1);

export interface SubjectOptions {
  readonly accountId?: string;
  readonly keyId?: string;
  readonly onStoreLoss?: OnStoreLoss;
  readonly timeZone?: string;
  readonly billingDay?: number;
}

/** Returns a subject with only the given limits. */
export function subjectWith(limits: Partial<NamedCounts>, options: SubjectOptions = {}): QuotaSubject {
  const { accountId = 'acc_1', keyId = 'key_1', onStoreLoss = 'local', timeZone = 'UTC', billingDay = 1 } = options;
  const terms = new QuotaTerms(limitsWith(limits), onStoreLoss, calendarOf(timeZone, billingDay));
  return new QuotaSubject(accountId, keyId, terms);
}

/** Marks written counts as newer than everything that a counter has observed. */
const NEWEST = { observedAtMs: Number.MAX_SAFE_INTEGER / 1_000, later: [] };

/** FixedMonths returns fixed month counts, and records the queries. */
export class FixedMonths implements MonthSource {
  readonly asked: { accountId: string; keyId: string | undefined; label: number }[] = [];
  used = { account: 0, key: 0 };
  day: DayCount | undefined;
  /** Error with which all queries reject while it is set. */
  failure: Error | undefined;

  async usedInMonth(accountId: string, keyId: string | undefined, period: MonthPeriod): Promise<WrittenMonth> {
    this.asked.push({ accountId, keyId, label: period.label });
    if (this.failure !== undefined) throw this.failure;
    const { account, key } = this.used;
    const ofDay = this.day === undefined ? {} : { day: this.day };
    return { account: { ...NEWEST, ...ofDay, used: account }, key: { ...NEWEST, ...ofDay, used: key } };
  }
}
