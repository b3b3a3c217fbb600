/**
 * The arithmetic of a node's share: where counters stood when it began to go on by itself, and what of a limit is its
 * part.
 */
import type { MonthPeriod } from './model/month-period.js';
import type { NodePlace } from './model/node-place.js';
import { MINUTE_BUCKETS } from '../platform/sliding-window.js';
import { CALENDAR_BITS, perWindow, WINDOWS } from '../platform/quotas/windows.js';
import { countsWith, type QuotaCounts, type QuotaDecision, type QuotaLimits } from './model/policies.js';
import type { QuotaSubject } from './model/subject.js';

/** A share that is used up says nothing of when there is more: when the store is back, or at another node at once. */
const SHARE_RETRY_MS = 2_000;

/** Where a counter stood when this node began to go on by itself. */
export interface Base {
  /** Of the month that `month` and `counted` belong to. */
  readonly label: number;
  /** What the counter here began with. */
  readonly counted: number;
  /** The most that is known to have been used. */
  month: number;
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
export function baseOf({ label }: MonthPeriod, month: number, minute: number, seenAtMs: number): Base {
  const minuteUntilMs = (Math.floor(seenAtMs / 1_000) + MINUTE_BUCKETS) * 1_000;
  return { label, counted: month, month, minute, minuteUntilMs, isStale: false };
}

/** A base, unless it was begun in a month that is still to come: by a clock that ran ahead. */
export function inMonth(base: Base | undefined, { following }: MonthPeriod): Base | undefined {
  return base !== undefined && base.label < following ? base : undefined;
}

/** How much of the month is used as far as this node knows; `here` is the count of its own counter. */
export function known(base: Base, { label }: MonthPeriod, here: number): number {
  return base.label === label ? here - base.counted + base.month : here;
}

/** What a subject last saw of a month; undefined: nothing. */
export function seenIn(subject: QuotaSubject, { label }: MonthPeriod): Seen | undefined {
  const { lastSeen: counts, lastSeenMonth, lastSeenAtMs: atMs } = subject;
  return counts === undefined || lastSeenMonth !== label ? undefined : { counts, atMs };
}

/** Counts in which the window at an index has at least so much used. */
export function atLeast(counts: Readonly<QuotaCounts>, index: number, used: number): QuotaCounts {
  return countsWith(counts, { [index]: Math.max(counts[index]!, used) });
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

/** raise notes that more is known to have been used in a base's month. */
export function raise(base: Base | undefined, period: MonthPeriod, used: number): void {
  if (base?.label === period.label) base.month = Math.max(base.month, used);
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
  const isUsedUp = WINDOWS.some(({ of, kind }, index) => {
    if (kind !== 'calendar' || (violated & (1 << index)) === 0) return false;
    return known(of === 'key' ? key : account, period, used[index]!) + cost > limits[index]!;
  });
  if (isUsedUp) return told;
  const ofCalendar = (violated & CALENDAR_BITS) !== 0;
  return { ...told, ofShare: true, retryAtMs: ofCalendar ? decision.nowMs + SHARE_RETRY_MS : decision.retryAtMs };
}
