/**
 * Equal terms are one object: a hundred thousand keys have few plans among them, and what follows from a plan is worked
 * out once.
 */
import type { MonthCalendar } from './month-period.js';
import type { Charge, OnStoreLoss, QuotaLimits } from './policies.js';
import { QuotaTerms } from './subject.js';

/** Limits of single keys and grants can make as many as there are keys. */
const LARGEST_TABLE = 10_000;

/** TermsTable hands out one object for equal terms. */
export class TermsTable {
  private table = new Map<string, QuotaTerms>();

  /** Those with these values; frozen limits or not, whoever asks must not change them. */
  of(limits: QuotaLimits, onStoreLoss: OnStoreLoss, calendar: MonthCalendar, charge: Charge = 'all'): QuotaTerms {
    const { keyMinute, accountMinute, accountMonth, keyMonth } = limits;
    const numbers = `${keyMinute} ${accountMinute} ${accountMonth} ${keyMonth}`;
    const name = `${numbers} ${onStoreLoss} ${charge} ${calendar.timeZone} ${calendar.billingDay}`;
    let terms = this.table.get(name);
    if (terms === undefined) {
      if (this.table.size >= LARGEST_TABLE) this.table = new Map();
      terms = new QuotaTerms(limits, onStoreLoss, calendar, charge);
      this.table.set(name, terms);
    }
    return terms;
  }
}

/** Whether both judge alike. Equal ones are nearly always the same object. */
export function areSameTerms(a: QuotaTerms, b: QuotaTerms): boolean {
  if (a === b) return true;
  return (
    a.limits.keyMinute === b.limits.keyMinute &&
    a.limits.accountMinute === b.limits.accountMinute &&
    a.limits.accountMonth === b.limits.accountMonth &&
    a.limits.keyMonth === b.limits.keyMonth &&
    a.onStoreLoss === b.onStoreLoss &&
    a.calendar === b.calendar &&
    a.charge === b.charge
  );
}
