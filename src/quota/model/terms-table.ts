/**
 * Equal terms are one object: a hundred thousand keys have few plans among them, and what follows from a plan is worked
 * out once.
 */
import { InternTable } from '../../platform/intern-table.js';
import type { MonthCalendar } from './month-period.js';
import type { Charge, OnStoreLoss, QuotaLimits } from './policies.js';
import { QuotaTerms } from './subject.js';

/** TermsTable hands out one object for equal terms. */
export class TermsTable {
  private readonly table = new InternTable<QuotaTerms>();

  /** Those with these values; frozen limits or not, whoever asks must not change them. */
  of(limits: QuotaLimits, onStoreLoss: OnStoreLoss, calendar: MonthCalendar, charge: Charge = 'all'): QuotaTerms {
    const name = `${limits.join(' ')} ${onStoreLoss} ${charge} ${calendar.timeZone} ${calendar.billingDay}`;
    return this.table.get(name) ?? this.table.keep(name, new QuotaTerms(limits, onStoreLoss, calendar, charge));
  }
}

/** Whether both judge alike. Equal ones are nearly always the same object. */
export function areSameTerms(a: QuotaTerms, b: QuotaTerms): boolean {
  if (a === b) return true;
  return (
    a.limits.every((limit, index) => limit === b.limits[index]) &&
    a.onStoreLoss === b.onStoreLoss &&
    a.calendar === b.calendar &&
    a.charge === b.charge
  );
}
