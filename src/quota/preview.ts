/** What the limits would answer to one more request, without counting it. */
import type { CounterReading, CounterStore, MinuteRoom } from './model/counter-store.js';
import { freeAgainMs } from './model/decision.js';
import { ACCOUNT_MINUTE, KEY_MINUTE } from '../platform/quotas/windows.js';
import { violatedBy } from './model/policies.js';
import type { QuotaDecision, QuotaLimits } from './model/policies.js';
import type { QuotaSubject } from './model/subject.js';

/** Limits, the counts before the request, and what would become of it. */
export interface Preview {
  readonly limits: QuotaLimits;
  readonly reading: CounterReading;
  /** Its `used` is without the request, whatever it says. */
  readonly decision: QuotaDecision;
}

/**
 * PreviewedLimits are what a request would be told of its limits; `live` is undefined where nobody knows the counts.
 */
export interface PreviewedLimits {
  readonly decision: QuotaDecision;
  readonly live: Preview | undefined;
  readonly shadow: Preview | undefined;
}

/**
 * Asks the live limits of a subject, and its shadow limits where there are any. Rejects while the counters are away.
 */
export async function preview(
  counters: Pick<CounterStore, 'read' | 'readShadow'>,
  subject: QuotaSubject,
  cost: number,
): Promise<{ readonly live: Preview; readonly shadow?: Preview }> {
  const { accountId, keyId, calendar, shadow } = subject;
  const reading = await counters.read(accountId, keyId, calendar, roomUnder(subject.limits, cost));
  const live = previewOf(subject.limits, reading, cost);
  if (shadow === undefined) return { live };
  const ofShadow = await counters.readShadow(accountId, keyId, calendar, reading.used, roomUnder(shadow.limits, cost));
  return { live, shadow: previewOf(shadow.limits, ofShadow, cost) };
}

/** The room that a minute must have left for a request. */
export function roomUnder(limits: QuotaLimits, cost: number): MinuteRoom {
  const most = (limit: number): number => Math.min(Number.MAX_SAFE_INTEGER, limit - cost);
  return { account: most(limits[ACCOUNT_MINUTE]), key: most(limits[KEY_MINUTE]) };
}

/** Judges a request by limits and what is used of them; counts nothing. */
export function previewOf(limits: QuotaLimits, reading: CounterReading, cost: number): Preview {
  const { used, nowMs, period, keyMinuteResetMs, accountMinuteResetMs } = reading;
  const violated = cost === 0 ? 0 : violatedBy(limits, used, cost);
  const decision: QuotaDecision = {
    admitted: violated === 0,
    source: 'store',
    cost,
    nowMs,
    period,
    used,
    keyMinuteResetMs,
    accountMinuteResetMs,
    violated,
    retryAtMs: violated === 0 ? 0 : freeAgainMs(violated, period, reading.accountFreedAtMs, reading.keyFreedAtMs),
  };
  return { limits, reading, decision };
}
