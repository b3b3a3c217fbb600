/**
 * Repeats a refusal without a call to the store, for at most ten seconds or until the window has room again. So clients
 * that ignore refusals cause little load on the store.
 */
import type { QuotaDecision } from './policies.js';
import type { QuotaSubject } from './subject.js';

/**
 * Longest time for which a refusal is repeated without a call to the store. A refund by another node takes effect after
 * this time at the latest.
 */
const LONGEST_MS = 10_000;
/** Longest time for plans that charge only for successes. With these plans, any node can refund usage at any moment. */
const LONGEST_OF_RESERVATIONS_MS = 500;

/**
 * Remembers a refusal on its subject.
 * @param nowMs time by this node's clock.
 */
export function cacheRefusal(subject: QuotaSubject, refusal: QuotaDecision, nowMs: number): void {
  subject.refusal = { decision: refusal, atMs: nowMs };
}

/**
 * Returns the remembered refusal if it still applies to this cost. Otherwise returns undefined, and the store must
 * decide. A raised limit creates a new subject, so it takes effect immediately.
 * @param hereMs time by this node's clock.
 */
export function findCachedRefusal(subject: QuotaSubject, cost: number, hereMs: number): QuotaDecision | undefined {
  if (subject.refusal === undefined) return undefined;
  const { decision: refusal, atMs } = subject.refusal;
  const sinceMs = hereMs - atMs;
  const nowMs = refusal.nowMs + sinceMs;
  const longestMs = subject.charge === 'all' ? LONGEST_MS : LONGEST_OF_RESERVATIONS_MS;
  // A negative value means that this node's clock was set back.
  if (sinceMs < 0 || sinceMs >= longestMs || nowMs >= refusal.retryAtMs) {
    subject.refusal = undefined;
    return undefined;
  }
  return cost < refusal.cost ? undefined : { ...refusal, nowMs, cost };
}
