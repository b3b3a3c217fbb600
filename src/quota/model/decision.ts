/** From what a store counted to the verdict on one request. Every store ends here, so that all of them answer alike. */
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

/** What a store found for a group of equal requests that arrived together: same key, same cost. */
export interface GroupVerdict {
  readonly source: DecisionSource;
  readonly nowMs: number;
  readonly period: MonthPeriod;
  /** How many of the group, from the first, are admitted. */
  readonly admitted: number;
  /** Counts before the group. */
  readonly before: Readonly<QuotaCounts>;
  /** Second in which the oldest request that is still counted was made. */
  readonly accountOldest: number;
  readonly keyOldest: number;
  /** Second from which one more request fits the minute window; 0 where it fits already. */
  readonly accountFreedAt: number;
  readonly keyFreedAt: number;
}

/** The decision for the request at `position` (from 0) of a group. */
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
 * The instant at which every violated window has room again, in milliseconds.
 * @param period when the month and the day end.
 * @param accountFreedMs when the account's minute has room, likewise the key's: only of meaning where it is violated.
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

/** The decision as it reads once its cost has been refunded. */
export function withoutCost(decision: QuotaDecision): QuotaDecision {
  return { ...decision, used: countsMinus(decision.used, decision.cost) };
}
