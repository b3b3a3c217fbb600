/** Reads the counters of an account and a key in this process, without counting a request. */
import type { CounterReading, MinuteRoom } from '../model/counter-store.js';
import {
  ACCOUNT_DAY,
  ACCOUNT_MINUTE,
  ACCOUNT_MONTH,
  KEY_DAY,
  KEY_MINUTE,
  KEY_MONTH,
} from '../../platform/quotas/windows.js';
import type { MonthPeriod } from '../model/month-period.js';
import { MINUTE_BUCKETS } from '../../platform/sliding-window.js';
import { type QuotaCounts } from '../model/policies.js';
import type { ProcessCounter } from './process-counter.js';

/** Returns the usage of a key and its account, by window; 0 for a missing counter. */
export function countsOf(account: ProcessCounter | undefined, key: ProcessCounter | undefined): QuotaCounts {
  return [
    key?.sum ?? 0,
    account?.sum ?? 0,
    account?.used ?? 0,
    key?.used ?? 0,
    account?.usedToday ?? 0,
    key?.usedToday ?? 0,
  ];
}

/** Writes the usage of a key and its account into an existing array. Hot path: every decision calls it. */
export function readCounts(account: ProcessCounter, key: ProcessCounter, into: QuotaCounts): void {
  into[KEY_MINUTE] = key.sum;
  into[ACCOUNT_MINUTE] = account.sum;
  into[ACCOUNT_MONTH] = account.used;
  into[KEY_MONTH] = key.used;
  into[ACCOUNT_DAY] = account.usedToday;
  into[KEY_DAY] = key.usedToday;
}

/** Advances the two counters to an instant, and reads them. A counter that does not know the month reads as 0. */
export function readingOf(
  [account, key]: readonly [ProcessCounter | undefined, ProcessCounter | undefined],
  nowMs: number,
  period: MonthPeriod,
  room: MinuteRoom,
): CounterReading {
  const ofAccount = inMonth(account, nowMs, period);
  const ofKey = inMonth(key, nowMs, period);
  return {
    nowMs,
    period,
    used: countsOf(ofAccount, ofKey),
    accountMinuteResetMs: resetMs(ofAccount),
    keyMinuteResetMs: resetMs(ofKey),
    accountFreedAtMs: freedAtMs(ofAccount, room.account),
    keyFreedAtMs: freedAtMs(ofKey, room.key),
  };
}

/** Advances a counter, and returns it if it knows the month. */
function inMonth(counter: ProcessCounter | undefined, nowMs: number, period: MonthPeriod): ProcessCounter | undefined {
  counter?.advance(Math.floor(nowMs / 1_000), period);
  return counter?.knowsMonth(period) === true ? counter : undefined;
}

function resetMs(counter: ProcessCounter | undefined): number {
  if (counter === undefined || counter.sum === 0) return 0;
  return (counter.oldest + MINUTE_BUCKETS) * 1_000;
}

/** Returns when the counter's minute has at most `room` usage, in ms. Returns 0 if the usage is low enough now. */
function freedAtMs(counter: ProcessCounter | undefined, room: number): number {
  const over = (counter?.sum ?? 0) - room;
  return counter === undefined || over <= 0 ? 0 : counter.freedAt(over) * 1_000;
}
