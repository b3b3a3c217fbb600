/** The arithmetic of a node's share: the counts when it began to decide alone, and its part of each limit. */
import {
  accountCountIn,
  keyCountIn,
  NOTHING_COUNTED,
  withCalendarCounts,
  type CalendarCount,
} from './model/calendar-count.js';
import type { MonthPeriod } from './model/month-period.js';
import type { NodePlace } from './model/node-place.js';
import { MINUTE_BUCKETS } from '../platform/sliding-window.js';
import { CALENDAR_BITS, perWindow, WINDOWS } from '../platform/quotas/windows.js';
import type { QuotaCounts, QuotaDecision, QuotaLimits } from './model/policies.js';
import type { QuotaSubject } from './model/subject.js';

/**
 * Retry time when a share is used up. Its next room is unknown: it can be available when the store is back, or
 * immediately at another node.
 */
const SHARE_RETRY_MS = 2_000;

/** Base holds the counts of a counter when this node began to decide alone. */
export interface Base {
  /** The month and the day of the counts. */
  readonly period: MonthPeriod;
  /** Initial counts of this node's own counter. */
  readonly counted: CalendarCount;
  /** Highest usage that this node knows of. */
  known: CalendarCount;
  readonly minute: number;
  /** When the minute's initial count has left the window. */
  readonly minuteUntilMs: number;
  /** Whether it was seen so long ago that the database may have newer counts, and has not been read yet. */
  isStale: boolean;
}

/** Seen holds what a node last knew about a key and its account, and when, ms. */
export interface Seen {
  readonly counts: Readonly<QuotaCounts>;
  readonly atMs: number;
}

/** Returns the base of a counter with the counts that were last seen. */
export function baseOf(period: MonthPeriod, counted: CalendarCount, minute: number, seenAtMs: number): Base {
  const minuteUntilMs = (Math.floor(seenAtMs / 1_000) + MINUTE_BUCKETS) * 1_000;
  return { period, counted, known: counted, minute, minuteUntilMs, isStale: false };
}

/** Returns the base, unless it is in a future month because a clock ran ahead. */
export function inMonth(base: Base | undefined, { following }: MonthPeriod): Base | undefined {
  return base !== undefined && base.period.label < following ? base : undefined;
}

/** Returns the part of a base's counts that belongs to a period. */
export function countIn({ period: of }: Base, count: CalendarCount, { label, day }: MonthPeriod): CalendarCount {
  if (of.label !== label) return NOTHING_COUNTED;
  return of.day.label === day.label ? count : { ...count, usedToday: 0 };
}

/**
 * Returns the usage that this node knows of.
 * @param here counts of this node's own counter.
 */
export function knownUsage(base: Base, period: MonthPeriod, here: CalendarCount): CalendarCount {
  const [counted, most] = [countIn(base, base.counted, period), countIn(base, base.known, period)];
  return {
    used: here.used - counted.used + most.used,
    usedToday: here.usedToday - counted.usedToday + most.usedToday,
  };
}

/** Returns what a subject last saw of a month, or undefined. */
export function seenIn(subject: QuotaSubject, period: MonthPeriod): Seen | undefined {
  const counts = subject.lastSeenIn(period);
  return counts === undefined ? undefined : { counts, atMs: subject.lastSeenAtMs };
}

/** Returns the greater of each count. Returns `one` itself if no count of the other is greater. */
export function greatestOf(one: CalendarCount, other: CalendarCount): CalendarCount {
  if (one.used >= other.used && one.usedToday >= other.usedToday) return one;
  return { used: Math.max(one.used, other.used), usedToday: Math.max(one.usedToday, other.usedToday) };
}

/** Returns the part of a minute's count, seen at an instant, that may still be in the window. */
export function minuteOf(used: number, seenAtMs: number, nowMs: number): { used: number; resetMs: number } {
  const resetMs = (Math.floor(seenAtMs / 1_000) + MINUTE_BUCKETS) * 1_000;
  return used > 0 && nowMs < resetMs ? { used, resetMs } : { used: 0, resetMs: 0 };
}

/** Returns a node's part of what is left. The parts of all nodes add up to it. */
export function shareOf(left: number, { count, rank }: NodePlace): number {
  if (left === Infinity) return Infinity;
  if (left <= 0) return 0;
  return Math.floor(left / count) + (rank < left % count ? 1 : 0);
}

/** Raises the known usage in a base's period. */
export function raiseKnown(base: Base | undefined, period: MonthPeriod, count: CalendarCount): void {
  if (base?.period.label !== period.label) return;
  const isSameDay = base.period.day.label === period.day.label;
  base.known = greatestOf(base.known, isSameDay ? count : { ...count, usedToday: 0 });
}

/**
 * Translates a decision by the share into the plan's numbers, so that what is left of a limit is what this node can
 * still admit.
 */
export function inPlanNumbers(
  decision: QuotaDecision,
  limits: QuotaLimits,
  share: QuotaLimits,
  account: Base,
  key: Base,
): QuotaDecision {
  const byPlan = perWindow((_, index) => {
    const limit = limits[index]!;
    return decision.used[index]! + (limit === Infinity ? 0 : limit - share[index]!);
  });
  const told: QuotaDecision = { ...decision, used: byPlan };
  if (decision.admitted) return told;
  const { violated, cost, period, used } = decision;
  const knownUsed = withCalendarCounts(used, {
    account: knownUsage(account, period, accountCountIn(used)),
    key: knownUsage(key, period, keyCountIn(used)),
  });
  const isUsedUp = WINDOWS.some(({ kind }, index) => {
    if (kind !== 'calendar' || (violated & (1 << index)) === 0) return false;
    return knownUsed[index]! + cost > limits[index]!;
  });
  if (isUsedUp) return told;
  const ofCalendar = (violated & CALENDAR_BITS) !== 0;
  return { ...told, ofShare: true, retryAtMs: ofCalendar ? decision.nowMs + SHARE_RETRY_MS : decision.retryAtMs };
}
