/** Subjects, limits and a source of month counts for tests of quotas. */
import type { DayCount } from '../../src/quota/model/calendar-count.js';
import type { MonthSource, WrittenMonth } from '../../src/quota/model/counter-store.js';
import { perWindow, WINDOW_NAMES, WINDOWS, type WindowName } from '../../src/platform/quotas/windows.js';
import { calendarOf, type MonthPeriod } from '../../src/quota/model/month-period.js';
import type { OnStoreLoss, QuotaCounts, QuotaLimits } from '../../src/quota/model/policies.js';
import { QuotaSubject, QuotaTerms } from '../../src/quota/model/subject.js';

type FieldName<Name> = Name extends `${infer Of}-${infer Period}` ? `${Of}${Capitalize<Period>}` : never;

/** A number for each window by name, such as `keyMinute`: easier to read in a test than an array. */
export type NamedCounts = Record<FieldName<WindowName>, number>;

/** A number of each window by name. */
export function named(counts: readonly number[]): NamedCounts {
  return Object.fromEntries(WINDOWS.map((_, index) => [fieldAt(index), counts[index]])) as NamedCounts;
}

/** Counts by window; 0 where none is named. */
export function countsWith(counts: Partial<NamedCounts>): QuotaCounts {
  return perWindow((_, index) => counts[fieldAt(index)] ?? 0) as QuotaCounts;
}

/** Limits by window; none where none is named. */
export function limitsWith(limits: Partial<NamedCounts>): QuotaLimits {
  return perWindow((_, index) => limits[fieldAt(index)] ?? Infinity);
}

export const NO_LIMITS = limitsWith({});

/** The bits of windows, as `QuotaDecision.violated` holds them. */
export function bitsOf(...names: readonly WindowName[]): number {
  return names.reduce((bits, name) => bits | (1 << WINDOW_NAMES.indexOf(name)), 0);
}

function fieldAt(index: number): keyof NamedCounts {
  const { of, period } = WINDOWS[index]!;
  return `${of}${period[0]!.toUpperCase()}${period.slice(1)}` as keyof NamedCounts;
}

/** The months of an account that has chosen nothing. */
export const UTC_MONTHS = calendarOf('UTC', 1);

export interface SubjectOptions {
  readonly accountId?: string;
  readonly keyId?: string;
  readonly onStoreLoss?: OnStoreLoss;
  readonly timeZone?: string;
  readonly billingDay?: number;
}

/** A subject without limits but for those named. */
export function subjectWith(limits: Partial<NamedCounts>, options: SubjectOptions = {}): QuotaSubject {
  const { accountId = 'acc_1', keyId = 'key_1', onStoreLoss = 'local', timeZone = 'UTC', billingDay = 1 } = options;
  const terms = new QuotaTerms(limitsWith(limits), onStoreLoss, calendarOf(timeZone, billingDay));
  return new QuotaSubject(accountId, keyId, terms);
}

/** Nobody has seen anything later. */
const NEWEST = { observedAtMs: Number.MAX_SAFE_INTEGER / 1_000, later: [] };

/** Returns fixed month counts, and records the queries. */
export class FixedMonths implements MonthSource {
  readonly asked: { accountId: string; keyId: string | undefined; label: number }[] = [];
  used = { account: 0, key: 0 };
  day: DayCount | undefined;
  /** Rejects with this while it is set. */
  failure: Error | undefined;

  async usedInMonth(accountId: string, keyId: string | undefined, period: MonthPeriod): Promise<WrittenMonth> {
    this.asked.push({ accountId, keyId, label: period.label });
    if (this.failure !== undefined) throw this.failure;
    const { account, key } = this.used;
    const ofDay = this.day === undefined ? {} : { day: this.day };
    return { account: { ...NEWEST, ...ofDay, used: account }, key: { ...NEWEST, ...ofDay, used: key } };
  }
}
