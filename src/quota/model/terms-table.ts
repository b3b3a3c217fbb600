/**
 * Shares one `QuotaTerms` object among keys with equal terms. Even a hundred thousand keys have few different plans.
 * Texts that are derived from the terms are therefore computed once and not per key.
 */
import { InternTable } from '../../platform/intern-table.js';
import type { MonthCalendar } from './month-period.js';
import type { Charge, OnStoreLoss, QuotaLimits } from './policies.js';
import { QuotaTerms } from './subject.js';

/** TermsTable keeps one `QuotaTerms` object for each combination of values. */
export class TermsTable {
  private readonly table = new InternTable<QuotaTerms>();

  /** Returns the shared terms with these values. Callers must not change `limits` afterwards. */
  intern(limits: QuotaLimits, onStoreLoss: OnStoreLoss, calendar: MonthCalendar, charge: Charge = 'all'): QuotaTerms {
    const name = `${limits.join(' ')} ${onStoreLoss} ${charge} ${calendar.timeZone} ${calendar.billingDay}`;
    return this.table.get(name) ?? this.table.keep(name, new QuotaTerms(limits, onStoreLoss, calendar, charge));
  }
}

/** Reports whether two terms have equal values. Equal terms are usually the same object, which makes this fast. */
export function areSameTerms(a: QuotaTerms, b: QuotaTerms): boolean {
  if (a === b) return true;
  return (
    a.limits.every((limit, index) => limit === b.limits[index]) &&
    a.onStoreLoss === b.onStoreLoss &&
    a.calendar === b.calendar &&
    a.charge === b.charge
  );
}
