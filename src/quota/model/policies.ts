/**
 * Defines the types of a quota: limits, counts and decisions. All stores use these types, so that callers need not know
 * which store decided.
 */
import type { PlanConfig } from '../../config/model/schema.js';
import { perWindow, WINDOWS, type PerWindow, type WindowName } from '../../platform/quotas/windows.js';
import type { MonthPeriod } from './month-period.js';

/** QuotaLimits holds the limits of a key and its account, by window. `Infinity` means no limit. */
export type QuotaLimits = PerWindow<number>;

/** OnStoreLoss is a plan's policy for the time while the counters are unavailable. */
export type OnStoreLoss = PlanConfig['onRedisLoss'];

/** Charge says which responses a plan charges for: `all`, or only `successes`. */
export type Charge = PlanConfig['charge'];

/** QuotaCounts holds the counts of a key and its account by window, at one instant. */
export type QuotaCounts = Writable<QuotaLimits>;

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

export const NOTHING_USED: Readonly<QuotaCounts> = perWindow(() => 0);

/**
 * DecisionSource says which counters made a decision: `store` for the counters of the store, and `local` for the
 * counters of this node during an outage. With `open`, nothing was counted, so there are no counts to report.
 */
export type DecisionSource = 'store' | 'local' | 'open';

/**
 * QuotaDecision is the decision on one request. `admitted: false` means that a limit refused the request. A failure of
 * the store is an error and never a decision.
 */
export interface QuotaDecision {
  readonly admitted: boolean;
  readonly source: DecisionSource;
  readonly cost: number;
  /** Time of the store that decided, in milliseconds. */
  readonly nowMs: number;
  readonly period: MonthPeriod;
  /** Counts after the decision. */
  readonly used: Readonly<QuotaCounts>;
  /** When the oldest usage leaves the minute windows, in ms of the store's time. 0 if nothing is used. */
  readonly keyMinuteResetMs: number;
  readonly accountMinuteResetMs: number;
  /** Bits of the windows that refused the request, by window index; 0 if admitted. */
  readonly violated: number;
  /** Whether the request was refused because this node's share is used up while the shared counters are unavailable. */
  readonly ofShare?: boolean;
  /** Earliest instant (ms of the store's time) at which the same request can be admitted; 0 if admitted. */
  readonly retryAtMs: number;
  /** The decision under the plan's shadow limits. Undefined if the plan has none, or if that decision failed. */
  shadow?: QuotaDecision | Promise<QuotaDecision | undefined>;
}

/** Returns the limits of a plan, by window. `Infinity` means no limit. */
export function limitsOf(plan: Pick<PlanConfig, 'key' | 'account'>): QuotaLimits {
  return perWindow(({ of, period }) => plan[of][period] ?? Infinity);
}

/** Returns the counts with `cost` added to every window. Unrolled, because every decision calls it. */
export function countsPlus(counts: Readonly<QuotaCounts>, cost: number): QuotaCounts {
  return [counts[0] + cost, counts[1] + cost, counts[2] + cost, counts[3] + cost, counts[4] + cost, counts[5] + cost];
}

/** Returns the counts with `cost` subtracted from every window, never below zero. */
export function countsMinus(counts: Readonly<QuotaCounts>, cost: number): QuotaCounts {
  return perWindow((_, index) => Math.max(0, counts[index]! - cost)) as QuotaCounts;
}

/** Returns the counts with the counts of some windows replaced. `changes` are by window index. */
export function countsWith(counts: Readonly<QuotaCounts>, changes: Readonly<Record<number, number>>): QuotaCounts {
  return perWindow((_, index) => changes[index] ?? counts[index]!) as QuotaCounts;
}

/**
 * Returns how many requests of `cost` fit under all limits. Any number of requests with cost 0 fits. Unrolled, because
 * every decision of `ProcessCounters` calls it.
 */
export function roomFor(limits: QuotaLimits, used: Readonly<QuotaCounts>, cost: number): number {
  if (cost === 0) return Infinity;
  const ofMinutes = Math.min(limits[0] - used[0], limits[1] - used[1]);
  const ofMonths = Math.min(limits[2] - used[2], limits[3] - used[3]);
  const room = Math.min(ofMinutes, ofMonths, limits[4] - used[4], limits[5] - used[5]);
  return room < cost ? 0 : Math.floor(room / cost);
}

/** Returns the bits of the windows without room for `cost`. */
export function violatedBy(limits: QuotaLimits, used: Readonly<QuotaCounts>, cost: number): number {
  let bits = 0;
  for (let index = 0; index < WINDOWS.length; index++) {
    if (limits[index]! - used[index]! < cost) bits |= 1 << index;
  }
  return bits;
}

const NAMES_OF_BITS: readonly (readonly WindowName[])[] = Array.from({ length: 2 ** WINDOWS.length }, (_, bits) =>
  WINDOWS.filter((_window, index) => (bits & (1 << index)) !== 0).map(({ name }) => name),
);

/** Returns the names of the windows in a set of bits, in the order of the response fields. */
export function policyNames(bits: number): readonly WindowName[] {
  return NAMES_OF_BITS[bits] ?? [];
}
