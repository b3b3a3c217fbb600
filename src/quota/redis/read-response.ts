/** The response of `READ_LUA` as a reading. */
import type { CounterReading } from '../model/counter-store.js';
import type { MonthPeriod } from '../model/month-period.js';
import { MINUTE_BUCKETS } from '../../platform/sliding-window.js';
import { ACCOUNT_MONTH, KEY_MONTH, perWindow } from '../../platform/quotas/windows.js';
import type { QuotaCounts } from '../model/policies.js';
import { READ_NUMBERS } from './scripts/read.js';

/** @param missing whose months stand for those of counters that do not exist. */
export function readingOf(
  response: readonly number[],
  period: MonthPeriod,
  missing: Readonly<QuotaCounts>,
): CounterReading {
  const nowMs = millisecondsOf(response);
  const account = readCounter(response, 1, missing[ACCOUNT_MONTH]);
  const key = readCounter(response, 1 + READ_NUMBERS, missing[KEY_MONTH]);
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

/** Redis's time in a response, whole milliseconds. */
export function millisecondsOf([microseconds = 0]: readonly number[]): number {
  return Math.floor(microseconds / 1_000);
}

function readCounter(
  response: readonly number[],
  at: number,
  missing: number,
): { minute: number; month: number; resetMs: number; freedAtMs: number } {
  const [label = -1, used = 0, sum = 0, oldest = 0, freedAt = 0] = response.slice(at, at + READ_NUMBERS);
  if (label === -1) return { minute: 0, month: missing, resetMs: 0, freedAtMs: 0 };
  return {
    minute: sum,
    month: used,
    resetMs: sum > 0 ? (oldest + MINUTE_BUCKETS) * 1_000 : 0,
    freedAtMs: freedAt * 1_000,
  };
}
