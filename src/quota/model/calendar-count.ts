/**
 * Usage of the two calendar periods that a counter is in, a month and a day of it. A month begins at midnight of the
 * account's zone, so a day never lies in two months.
 */
import { ACCOUNT_DAY, ACCOUNT_MONTH, KEY_DAY, KEY_MONTH } from '../../platform/quotas/windows.js';
import { countsWith, type QuotaCounts } from './policies.js';

/** Counts of the current month and day. */
export interface CalendarCount {
  readonly used: number;
  readonly usedToday: number;
}

export const NOTHING_COUNTED: CalendarCount = { used: 0, usedToday: 0 };

/** A count and the label of the day that it belongs to. */
export interface DayCount {
  readonly day: number;
  readonly used: number;
}

/** The calendar counts of an account among the counts by window. */
export function accountCountIn(counts: Readonly<QuotaCounts>): CalendarCount {
  return { used: counts[ACCOUNT_MONTH], usedToday: counts[ACCOUNT_DAY] };
}

/** The calendar counts of a key among the counts by window. */
export function keyCountIn(counts: Readonly<QuotaCounts>): CalendarCount {
  return { used: counts[KEY_MONTH], usedToday: counts[KEY_DAY] };
}

/** Counts by window with the calendar counts of an account and a key replaced. */
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
