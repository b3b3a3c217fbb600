/**
 * Defines the usage of a counter in the current month, and on the current day of that month. Both begin at midnight in
 * the account's time zone, so a day never belongs to two months.
 */
import { ACCOUNT_DAY, ACCOUNT_MONTH, KEY_DAY, KEY_MONTH } from '../../platform/quotas/windows.js';
import { countsWith, type QuotaCounts } from './policies.js';

/**
 * CalendarCount is the usage of one account or key in the current month (`used`) and on the current day (`usedToday`).
 */
export interface CalendarCount {
  readonly used: number;
  readonly usedToday: number;
}

export const NOTHING_COUNTED: CalendarCount = { used: 0, usedToday: 0 };

/** DayCount is the usage of one day. `day` is the day's label, such as 20261120. */
export interface DayCount {
  readonly day: number;
  readonly used: number;
}

/** Returns an account's calendar counts from the counts by window. */
export function accountCountIn(counts: Readonly<QuotaCounts>): CalendarCount {
  return { used: counts[ACCOUNT_MONTH], usedToday: counts[ACCOUNT_DAY] };
}

/** Returns a key's calendar counts from the counts by window. */
export function keyCountIn(counts: Readonly<QuotaCounts>): CalendarCount {
  return { used: counts[KEY_MONTH], usedToday: counts[KEY_DAY] };
}

/** Returns a copy of the counts in which the calendar counts are replaced. The minute counts stay the same. */
export function withCalendarCounts(
  counts: Readonly<QuotaCounts>,
  { account, key }: { readonly account: CalendarCount; readonly key: CalendarCount },
): QuotaCounts {
  return countsWith(counts, {
    [ACCOUNT_MONTH]: account.used,
    [ACCOUNT_DAY]: account.usedToday,
    [KEY_MONTH]: key.used,
    [KEY_DAY]: key.usedToday,
  });
}
