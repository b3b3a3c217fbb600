/**
 * A window that is known to be used up refuses without asking, until it has room again: who keeps calling costs the
 * store nothing.
 */
import type { QuotaDecision } from './policies.js';
import type { QuotaSubject } from './subject.js';

/**
 * How long a refusal is repeated without asking the store again: a cost that another node refunded is found after this.
 */
const LONGEST_MS = 10_000;
/** The same where a plan charges only successes: then what is used up may be refunded at any moment, by any node. */
const LONGEST_OF_RESERVATIONS_MS = 500;

/** Remembers a refusal. @param nowMs by this node's clock. */
export function rememberRefusal(subject: QuotaSubject, refusal: QuotaDecision, nowMs: number): void {
  subject.refusal = { decision: refusal, atMs: nowMs };
}

/**
 * The refusal that is known to hold for this cost now; undefined where the store has to be asked. A raised limit is
 * another subject, and is asked about at once.
 */
export function knownRefusal(subject: QuotaSubject, cost: number, hereMs: number): QuotaDecision | undefined {
  if (subject.refusal === undefined) return undefined;
  const { decision: refusal, atMs } = subject.refusal;
  const sinceMs = hereMs - atMs;
  const nowMs = refusal.nowMs + sinceMs;
  const longestMs = subject.charge === 'all' ? LONGEST_MS : LONGEST_OF_RESERVATIONS_MS;
  // Negative: the clock went back, and nothing is known.
  if (sinceMs < 0 || sinceMs >= longestMs || nowMs >= refusal.retryAtMs) {
    subject.refusal = undefined;
    return undefined;
  }
  return cost < refusal.cost ? undefined : { ...refusal, nowMs, cost };
}
