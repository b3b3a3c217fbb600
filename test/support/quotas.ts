/** Subjects, limits and a source of month counts for tests of quotas. */
import type { MonthSource, WrittenMonth } from '../../src/quota/model/counter-store.js';
import { calendarOf, type MonthPeriod } from '../../src/quota/model/month-period.js';
import type { OnStoreLoss, QuotaLimits } from '../../src/quota/model/policies.js';
import { QuotaSubject, QuotaTerms } from '../../src/quota/model/subject.js';

export const NO_LIMITS: QuotaLimits = {
  keyMinute: Infinity,
  accountMinute: Infinity,
  accountMonth: Infinity,
  keyMonth: Infinity,
};

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
export function subjectWith(limits: Partial<QuotaLimits>, options: SubjectOptions = {}): QuotaSubject {
  const { accountId = 'acc_1', keyId = 'key_1', onStoreLoss = 'local', timeZone = 'UTC', billingDay = 1 } = options;
  const terms = new QuotaTerms({ ...NO_LIMITS, ...limits }, onStoreLoss, calendarOf(timeZone, billingDay));
  return new QuotaSubject(accountId, keyId, terms);
}

/** Nobody has seen anything later. */
const NEWEST = { observedAtMs: Number.MAX_SAFE_INTEGER / 1_000, later: [] };

/** What the database would say; remembers what it was asked. */
export class FixedMonths implements MonthSource {
  readonly asked: { accountId: string; keyId: string | undefined; label: number }[] = [];
  used = { account: 0, key: 0 };
  /** Rejects with this while it is set. */
  failure: Error | undefined;

  async usedInMonth(accountId: string, keyId: string | undefined, period: MonthPeriod): Promise<WrittenMonth> {
    this.asked.push({ accountId, keyId, label: period.label });
    if (this.failure !== undefined) throw this.failure;
    const { account, key } = this.used;
    return { account: { ...NEWEST, used: account }, key: { ...NEWEST, used: key } };
  }
}
