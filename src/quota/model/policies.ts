/**
 * The types of a quota: limits, counts and decisions. All stores share them, so that a request is decided and described
 * alike everywhere.
 */
import type { PlanConfig } from '../../config/model/schema.js';
import { perWindow, WINDOWS, type PerWindow, type WindowName } from '../../platform/quotas/windows.js';
import type { MonthPeriod } from './month-period.js';

/** QuotaLimits holds the limits in force for one key, by window. `Infinity` means no limit. */
export type QuotaLimits = PerWindow<number>;

/** OnStoreLoss is the policy of a plan for times when the counters cannot be reached. */
export type OnStoreLoss = PlanConfig['onRedisLoss'];

/** Charge says which responses a plan charges for. */
export type Charge = PlanConfig['charge'];

/** QuotaCounts holds the counts of a key and its account by window, at one instant. */
export type QuotaCounts = Writable<QuotaLimits>;

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

export const NOTHING_USED: Readonly<QuotaCounts> = perWindow(() => 0);

/**
 * DecisionSource says which counters a decision used. `open` means that nothing was counted, so there are no counts to
 * report.
 */
export type DecisionSource = 'store' | 'local' | 'open';

/**
 * QuotaDecision is the decision on one request. `admitted: false` means refused, never failed: a store that fails
 * rejects.
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
  /** When the minute windows next free some usage, in ms of the store's time. 0 if nothing is used. */
  readonly keyMinuteResetMs: number;
  readonly accountMinuteResetMs: number;
  /** Bits of the windows that refused, by their index; 0 if admitted. */
  readonly violated: number;
  /** Whether it was refused because this node's share is used up while the shared counters are away. */
  readonly ofShare?: boolean;
  /** Earliest instant (ms of the store's time) at which the same request can be admitted; 0 if admitted. */
  readonly retryAtMs: number;
  /** The decision under the plan's shadow limits, if it has any. Undefined if there is no such decision. */
  shadow?: QuotaDecision | Promise<QuotaDecision | undefined>;
}

/** Returns the limits that a plan sets. */
export function limitsOf(plan: Pick<PlanConfig, 'key' | 'account'>): QuotaLimits {
  return perWindow(({ of, period }) => plan[of][period] ?? Infinity);
}

/** Returns the counts with `cost` added to every window. Unrolled, because every decision calls it. */
export function countsPlus(counts: Readonly<QuotaCounts>, cost: number): QuotaCounts {
  return [counts[0] + cost, counts[1] + cost, counts[2] + cost, counts[3] + cost, counts[4] + cost, counts[5] + cost];
}

/** Returns the counts with `cost` refunded in every window. */
export function countsMinus(counts: Readonly<QuotaCounts>, cost: number): QuotaCounts {
  return perWindow((_, index) => Math.max(0, counts[index]! - cost)) as QuotaCounts;
}

/** Returns the counts with those of some windows replaced, by index. */
export function countsWith(counts: Readonly<QuotaCounts>, changes: Readonly<Record<number, number>>): QuotaCounts {
  return perWindow((_, index) => changes[index] ?? counts[index]!) as QuotaCounts;
}

/**
 * Returns how many requests of `cost` fit under the limits; 0 if a window is full. Unrolled, because every decision in
 * the process calls it.
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
