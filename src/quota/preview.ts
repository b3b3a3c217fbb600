/** Previews the decision on one more request without counting the request. */
import type { CounterReading, CounterStore, MinuteRoom } from './model/counter-store.js';
import { freeAgainMs } from './model/decision.js';
import { ACCOUNT_MINUTE, KEY_MINUTE } from '../platform/quotas/windows.js';
import { violatedBy } from './model/policies.js';
import type { QuotaDecision, QuotaLimits } from './model/policies.js';
import type { QuotaSubject } from './model/subject.js';

/** Preview holds limits, the counts before the request, and the decision that the request would get. */
export interface Preview {
  readonly limits: QuotaLimits;
  readonly reading: CounterReading;
  /**
   * Decision that the request would get. Unlike in the decision on a real request, `used` contains the counts before
   * the request.
   */
  readonly decision: QuotaDecision;
}

/**
 * PreviewedLimits is the preview of a request under its live and shadow limits. `live` is undefined if the counts are
 * unknown. `shadow` is undefined if there are no shadow limits or their counts are unknown.
 */
export interface PreviewedLimits {
  readonly decision: QuotaDecision;
  readonly live: Preview | undefined;
  readonly shadow: Preview | undefined;
}

/**
 * Previews a request under the live limits of a subject, and under its shadow limits if there are any. Rejects while
 * the counters are unavailable.
 */
export async function previewDecision(
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

/**
 * Returns the highest usage of each minute window at which a request of this cost still fits. Negative if the request
 * can never fit.
 */
export function roomUnder(limits: QuotaLimits, cost: number): MinuteRoom {
  const highest = (limit: number): number => Math.min(Number.MAX_SAFE_INTEGER, limit - cost);
  return { account: highest(limits[ACCOUNT_MINUTE]), key: highest(limits[KEY_MINUTE]) };
}

/**
 * Checks a request against limits and their usage without counting the request. A request that costs nothing is always
 * admitted.
 */
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
