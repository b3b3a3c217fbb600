/** Parses the responses of `READ_LUA`, and the parts that other scripts' responses have in common with them. */
import { accountCountIn, keyCountIn, type CalendarCount } from '../model/calendar-count.js';
import type { CounterReading } from '../model/counter-store.js';
import type { MonthPeriod } from '../model/month-period.js';
import { MINUTE_BUCKETS } from '../../platform/sliding-window.js';
import { perWindow } from '../../platform/quotas/windows.js';
import type { QuotaCounts } from '../model/policies.js';
import { READ_NUMBERS } from './scripts/read.js';

/**
 * Parses the counts of an account and a key.
 * @param missing calendar counts to use for counters that do not exist or do not know the month.
 */
export function readingOf(
  response: readonly number[],
  period: MonthPeriod,
  missing: Readonly<QuotaCounts>,
): CounterReading {
  const nowMs = millisecondsOf(response);
  const account = readCounter(response, 1, accountCountIn(missing));
  const key = readCounter(response, 1 + READ_NUMBERS, keyCountIn(missing));
  return {
    nowMs,
    period,
    used: perWindow(({ of, period: counted }) => (of === 'key' ? key : account)[counted]),
    accountMinuteResetMs: account.resetMs,
    keyMinuteResetMs: key.resetMs,
    accountFreedAtMs: account.freedAtMs,
    keyFreedAtMs: key.freedAtMs,
  };
}

/** Returns the calendar counts (month, day) that begin at a position of a response. */
export function countAt(response: readonly number[], at: number): CalendarCount {
  return { used: response[at] ?? 0, usedToday: response[at + 1] ?? 0 };
}

/** Returns Redis's time in a response, in whole milliseconds. */
export function millisecondsOf([microseconds = 0]: readonly number[]): number {
  return Math.floor(microseconds / 1_000);
}

function readCounter(
  response: readonly number[],
  at: number,
  missing: CalendarCount,
): { minute: number; month: number; day: number; resetMs: number; freedAtMs: number } {
  const [label = -1, month = 0, day = 0, sum = 0, oldest = 0, freedAt = 0] = response.slice(at, at + READ_NUMBERS);
  if (label === -1) return { minute: 0, month: missing.used, day: missing.usedToday, resetMs: 0, freedAtMs: 0 };
  return {
    minute: sum,
    month,
    day,
    resetMs: sum > 0 ? (oldest + MINUTE_BUCKETS) * 1_000 : 0,
    freedAtMs: freedAt * 1_000,
  };
}
