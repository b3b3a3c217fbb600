/**
 * Converts a store's counts to the decision on one request. All stores use this code, so that equal counts lead to
 * equal decisions.
 */
import type { MonthPeriod } from './month-period.js';
import { MINUTE_BUCKETS } from '../../platform/sliding-window.js';
import { ACCOUNT_MINUTE, bitsWhere, DAY_BITS, KEY_MINUTE, MONTH_BITS } from '../../platform/quotas/windows.js';
import {
  countsMinus,
  countsPlus,
  violatedBy,
  type DecisionSource,
  type QuotaCounts,
  type QuotaDecision,
} from './policies.js';
import type { QuotaSubject } from './subject.js';

const ACCOUNT_SLIDING = bitsWhere(({ of, kind }) => of === 'account' && kind === 'sliding');
const KEY_SLIDING = bitsWhere(({ of, kind }) => of === 'key' && kind === 'sliding');

/** GroupVerdict is a store's result for a group of requests with the same key and the same cost. */
export interface GroupVerdict {
  readonly source: DecisionSource;
  readonly nowMs: number;
  readonly period: MonthPeriod;
  /** Number of admitted requests. The store admits the first requests of the group, and refuses the rest. */
  readonly admitted: number;
  /** Counts before the first request of the group. */
  readonly before: Readonly<QuotaCounts>;
  /** Second of the oldest request in the minute window. */
  readonly accountOldest: number;
  readonly keyOldest: number;
  /** Second from which one more request fits in the minute window; 0 if it fits now. */
  readonly accountFreedAt: number;
  readonly keyFreedAt: number;
}

/** Returns the decision for the request at `position` (from 0) of a group. */
export function decisionFor(
  subject: QuotaSubject,
  cost: number,
  verdict: GroupVerdict,
  position: number,
): QuotaDecision {
  const admitted = position < verdict.admitted;
  const added = cost * (admitted ? position + 1 : verdict.admitted);
  const { before, period, nowMs } = verdict;
  const used = countsPlus(before, added);
  const violated = admitted ? 0 : violatedBy(subject.limits, used, cost);
  return {
    admitted,
    source: verdict.source,
    cost,
    nowMs,
    period,
    used,
    keyMinuteResetMs: used[KEY_MINUTE] > 0 ? (verdict.keyOldest + MINUTE_BUCKETS) * 1_000 : 0,
    accountMinuteResetMs: used[ACCOUNT_MINUTE] > 0 ? (verdict.accountOldest + MINUTE_BUCKETS) * 1_000 : 0,
    violated,
    retryAtMs:
      violated === 0 ? 0 : freeAgainMs(violated, period, verdict.accountFreedAt * 1_000, verdict.keyFreedAt * 1_000),
  };
}

/**
 * Returns the instant (ms) at which every violated window has room again.
 * @param violated bits of the violated windows.
 * @param accountFreedMs when the account's minute has room; used only if that window is violated.
 * @param keyFreedMs when the key's minute has room; used only if that window is violated.
 */
export function freeAgainMs(
  violated: number,
  { endMs, day }: MonthPeriod,
  accountFreedMs: number,
  keyFreedMs: number,
): number {
  let atMs = 0;
  if ((violated & DAY_BITS) !== 0) atMs = day.endMs;
  if ((violated & MONTH_BITS) !== 0) atMs = endMs;
  if ((violated & ACCOUNT_SLIDING) !== 0) atMs = Math.max(atMs, accountFreedMs);
  if ((violated & KEY_SLIDING) !== 0) atMs = Math.max(atMs, keyFreedMs);
  return atMs;
}

/** Returns a copy of a decision in which every count is reduced by the refunded cost. */
export function withoutCost(decision: QuotaDecision): QuotaDecision {
  return { ...decision, used: countsMinus(decision.used, decision.cost) };
}
