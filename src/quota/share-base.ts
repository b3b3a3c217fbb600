/**
 * Computes a node's share of the limits from the counts at the time when the node began to decide without the store.
 */
import {
  accountCountIn,
  keyCountIn,
  NOTHING_COUNTED,
  withCalendarCounts,
  type CalendarCount,
} from './model/calendar-count.js';
import type { MonthPeriod } from './model/month-period.js';
import type { NodePosition } from './model/node-position.js';
import { MINUTE_BUCKETS } from '../platform/sliding-window.js';
import { CALENDAR_BITS, perWindow, WINDOWS } from '../platform/quotas/windows.js';
import type { QuotaCounts, QuotaDecision, QuotaLimits } from './model/policies.js';
import type { QuotaSubject } from './model/subject.js';

/**
 * Retry time for requests that a used-up share refuses. The node does not know when more quota will be available. A
 * retry can succeed when the store responds again, or immediately at another node.
 */
const SHARE_RETRY_MS = 2_000;

/** ShareBase holds the counts of an account or a key from the time when this node began to decide without the store. */
export interface ShareBase {
  /** The month and the day of the counts. */
  readonly period: MonthPeriod;
  /** Initial counts of this node's own counter. */
  readonly counted: CalendarCount;
  /** Highest usage that this node knows of. */
  known: CalendarCount;
  /** Initial count of the minute window. */
  readonly minute: number;
  /** When `minute` has left the sliding window, in ms. */
  readonly minuteUntilMs: number;
  /**
   * Whether the counts are so old that the database may have newer counts. Set to false when a read of the database
   * begins.
   */
  isStale: boolean;
}

/** ObservedCounts holds the counts of a key and its account that this node last saw, and when it saw them (ms). */
export interface ObservedCounts {
  readonly counts: Readonly<QuotaCounts>;
  readonly atMs: number;
}

/** Returns the base of a counter that starts at the given counts. */
export function baseOf(period: MonthPeriod, counted: CalendarCount, minute: number, seenAtMs: number): ShareBase {
  const minuteUntilMs = (Math.floor(seenAtMs / 1_000) + MINUTE_BUCKETS) * 1_000;
  return { period, counted, known: counted, minute, minuteUntilMs, isStale: false };
}

/** Returns the base, or undefined if the base belongs to a later month because a clock ran ahead. */
export function inMonth(base: ShareBase | undefined, { following }: MonthPeriod): ShareBase | undefined {
  return base !== undefined && base.period.label < following ? base : undefined;
}

/** Returns the part of a base's counts that belongs to a period. Counts of another month or day are 0. */
export function countIn({ period: of }: ShareBase, count: CalendarCount, { label, day }: MonthPeriod): CalendarCount {
  if (of.label !== label) return NOTHING_COUNTED;
  return of.day.label === day.label ? count : { ...count, usedToday: 0 };
}

/**
 * Returns the usage that this node knows. It is the highest known usage plus the costs that this node's own counter has
 * counted since.
 * @param here counts of this node's own counter.
 */
export function knownUsage(base: ShareBase, period: MonthPeriod, here: CalendarCount): CalendarCount {
  const [initial, known] = [countIn(base, base.counted, period), countIn(base, base.known, period)];
  return {
    used: here.used - initial.used + known.used,
    usedToday: here.usedToday - initial.usedToday + known.usedToday,
  };
}

/** Returns the counts that a store last reported for a subject in a month. Returns undefined if there are none. */
export function seenIn(subject: QuotaSubject, period: MonthPeriod): ObservedCounts | undefined {
  const counts = subject.lastSeenIn(period);
  return counts === undefined ? undefined : { counts, atMs: subject.lastSeenAtMs };
}

/** Returns the greater of each count. Returns `one` itself if no count of `other` is greater. */
export function greatestOf(one: CalendarCount, other: CalendarCount): CalendarCount {
  if (one.used >= other.used && one.usedToday >= other.usedToday) return one;
  return { used: Math.max(one.used, other.used), usedToday: Math.max(one.usedToday, other.usedToday) };
}

/** Returns a minute's count and when it leaves the window (ms). Returns 0 for both if the count has left the window. */
export function minuteOf(used: number, seenAtMs: number, nowMs: number): { used: number; resetMs: number } {
  const resetMs = (Math.floor(seenAtMs / 1_000) + MINUTE_BUCKETS) * 1_000;
  return used > 0 && nowMs < resetMs ? { used, resetMs } : { used: 0, resetMs: 0 };
}

/** Returns a node's part of the remaining quota. The parts of all nodes add up to the whole. */
export function shareOf(left: number, { count, rank }: NodePosition): number {
  if (left === Infinity) return Infinity;
  if (left <= 0) return 0;
  return Math.floor(left / count) + (rank < left % count ? 1 : 0);
}

/** Raises the known usage of a base to a count of the same month. Ignores counts of other months. */
export function raiseKnown(base: ShareBase | undefined, period: MonthPeriod, count: CalendarCount): void {
  if (base?.period.label !== period.label) return;
  const isSameDay = base.period.day.label === period.day.label;
  base.known = greatestOf(base.known, isSameDay ? count : { ...count, usedToday: 0 });
}

/**
 * Converts a decision that used this node's share, so that its counts relate to the plan's limits. A limit minus its
 * converted count is the quota that this node can still admit. Sets `ofShare` on refusals that only the share caused.
 * If the share of a day or month is used up, also replaces the retry time.
 * @param limits limits of the subject, before the division among nodes
 * @param share limits that the decision used
 */
export function inPlanNumbers(
  decision: QuotaDecision,
  limits: QuotaLimits,
  share: QuotaLimits,
  account: ShareBase,
  key: ShareBase,
): QuotaDecision {
  const byPlan = perWindow((_, index) => {
    const limit = limits[index]!;
    return decision.used[index]! + (limit === Infinity ? 0 : limit - share[index]!);
  });
  const converted: QuotaDecision = { ...decision, used: byPlan };
  if (decision.admitted) return converted;
  const { violated, cost, period, used } = decision;
  const knownUsed = withCalendarCounts(used, {
    account: knownUsage(account, period, accountCountIn(used)),
    key: knownUsage(key, period, keyCountIn(used)),
  });
  const isUsedUp = WINDOWS.some(({ kind }, index) => {
    if (kind !== 'calendar' || (violated & (1 << index)) === 0) return false;
    return knownUsed[index]! + cost > limits[index]!;
  });
  if (isUsedUp) return converted;
  const ofCalendar = (violated & CALENDAR_BITS) !== 0;
  return { ...converted, ofShare: true, retryAtMs: ofCalendar ? decision.nowMs + SHARE_RETRY_MS : decision.retryAtMs };
}
