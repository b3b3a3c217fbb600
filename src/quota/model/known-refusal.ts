/**
 * Repeats a refusal without asking the store until the window has room again, so that clients that keep calling cost
 * the store nothing.
 */
import type { QuotaDecision } from './policies.js';
import type { QuotaSubject } from './subject.js';

/** Longest time to repeat a refusal without asking the store. A refund by another node is noticed after it. */
const LONGEST_MS = 10_000;
/** The same for plans that charge only successes. There, any node can refund usage at any moment. */
const LONGEST_OF_RESERVATIONS_MS = 500;

/**
 * Remembers a refusal.
 * @param nowMs time by this node's clock.
 */
export function rememberRefusal(subject: QuotaSubject, refusal: QuotaDecision, nowMs: number): void {
  subject.refusal = { decision: refusal, atMs: nowMs };
}

/**
 * Returns the remembered refusal if it still holds for this cost, or undefined if the store has to be asked. A raised
 * limit creates a new subject, so it takes effect immediately.
 */
export function knownRefusal(subject: QuotaSubject, cost: number, hereMs: number): QuotaDecision | undefined {
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
