/**
 * The arithmetic of a node's share: where counters stood when it began to go on by itself, and what of a limit is its
 * part.
 */
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

/** A share that is used up says nothing of when there is more: when the store is back, or at another node at once. */
const SHARE_RETRY_MS = 2_000;

/** Where a counter stood when this node began to go on by itself. */
export interface Base {
  /** The month and the day that the counts belong to. */
  readonly period: MonthPeriod;
  /** What the counter here began with. */
  readonly counted: CalendarCount;
  /** The most that is known to have been used. */
  known: CalendarCount;
  readonly minute: number;
  /** When those have left the window. */
  readonly minuteUntilMs: number;
  /** Whether it was seen so long ago that the database may know more, and has not been asked. */
  isStale: boolean;
}

/** What a node last knew of a key and its account, and when, ms. */
export interface Seen {
  readonly counts: Readonly<QuotaCounts>;
  readonly atMs: number;
}

/** baseOf is the base of a counter that was last seen so. */
export function baseOf(period: MonthPeriod, counted: CalendarCount, minute: number, seenAtMs: number): Base {
  const minuteUntilMs = (Math.floor(seenAtMs / 1_000) + MINUTE_BUCKETS) * 1_000;
  return { period, counted, known: counted, minute, minuteUntilMs, isStale: false };
}

/** A base, unless it was begun in a month that is still to come: by a clock that ran ahead. */
export function inMonth(base: Base | undefined, { following }: MonthPeriod): Base | undefined {
  return base !== undefined && base.period.label < following ? base : undefined;
}

/** Returns the part of a base's counts that belongs to a period. */
export function countIn({ period: of }: Base, count: CalendarCount, { label, day }: MonthPeriod): CalendarCount {
  if (of.label !== label) return NOTHING_COUNTED;
  return of.day.label === day.label ? count : { ...count, usedToday: 0 };
}

/** Returns the usage that this node knows of. @param here counts of its own counter. */
export function known(base: Base, period: MonthPeriod, here: CalendarCount): CalendarCount {
  const [counted, most] = [countIn(base, base.counted, period), countIn(base, base.known, period)];
  return {
    used: here.used - counted.used + most.used,
    usedToday: here.usedToday - counted.usedToday + most.usedToday,
  };
}

/** What a subject last saw of a month; undefined: nothing. */
export function seenIn(subject: QuotaSubject, period: MonthPeriod): Seen | undefined {
  const counts = subject.lastSeenIn(period);
  return counts === undefined ? undefined : { counts, atMs: subject.lastSeenAtMs };
}

/** The greater of each count; `one` itself where none of the other is greater. */
export function greatestOf(one: CalendarCount, other: CalendarCount): CalendarCount {
  if (one.used >= other.used && one.usedToday >= other.usedToday) return one;
  return { used: Math.max(one.used, other.used), usedToday: Math.max(one.usedToday, other.usedToday) };
}

/** A minute's count that was seen at an instant, as far as it may still be in the window. */
export function minuteOf(used: number, seenAtMs: number, nowMs: number): { used: number; resetMs: number } {
  const resetMs = (Math.floor(seenAtMs / 1_000) + MINUTE_BUCKETS) * 1_000;
  return used > 0 && nowMs < resetMs ? { used, resetMs } : { used: 0, resetMs: 0 };
}

/** A node's part of what is left: the parts of all of them add up to it. */
export function shareOf(left: number, { count, rank }: NodePlace): number {
  if (left === Infinity) return Infinity;
  if (left <= 0) return 0;
  return Math.floor(left / count) + (rank < left % count ? 1 : 0);
}

/** raise notes that more is known to have been used in a base's period. */
export function raise(base: Base | undefined, period: MonthPeriod, count: CalendarCount): void {
  if (base?.period.label !== period.label) return;
  const isSameDay = base.period.day.label === period.day.label;
  base.known = greatestOf(base.known, isSameDay ? count : { ...count, usedToday: 0 });
}

/** The decision by the plan's numbers: what is left of a limit is what this node has left to give. */
export function told(
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
    account: known(account, period, accountCountIn(used)),
    key: known(key, period, keyCountIn(used)),
  });
  const isUsedUp = WINDOWS.some(({ kind }, index) => {
    if (kind !== 'calendar' || (violated & (1 << index)) === 0) return false;
    return knownUsed[index]! + cost > limits[index]!;
  });
  if (isUsedUp) return told;
  const ofCalendar = (violated & CALENDAR_BITS) !== 0;
  return { ...told, ofShare: true, retryAtMs: ofCalendar ? decision.nowMs + SHARE_RETRY_MS : decision.retryAtMs };
}
