/**
 * Shares one `QuotaTerms` object among keys with equal terms. A hundred thousand keys have few different plans, so
 * everything derived from a plan is computed once.
 */
import { InternTable } from '../../platform/intern-table.js';
import type { MonthCalendar } from './month-period.js';
import type { Charge, OnStoreLoss, QuotaLimits } from './policies.js';
import { QuotaTerms } from './subject.js';

/** TermsTable returns one object for equal terms. */
export class TermsTable {
  private readonly table = new InternTable<QuotaTerms>();

  /** Returns the shared terms with these values. Callers must not change `limits` afterwards. */
  intern(limits: QuotaLimits, onStoreLoss: OnStoreLoss, calendar: MonthCalendar, charge: Charge = 'all'): QuotaTerms {
    const name = `${limits.join(' ')} ${onStoreLoss} ${charge} ${calendar.timeZone} ${calendar.billingDay}`;
    return this.table.get(name) ?? this.table.keep(name, new QuotaTerms(limits, onStoreLoss, calendar, charge));
  }
}

/** Reports whether both terms have equal values. Usually equal terms are the same object. */
export function areSameTerms(a: QuotaTerms, b: QuotaTerms): boolean {
  if (a === b) return true;
  return (
    a.limits.every((limit, index) => limit === b.limits[index]) &&
    a.onStoreLoss === b.onStoreLoss &&
    a.calendar === b.calendar &&
    a.charge === b.charge
  );
}
