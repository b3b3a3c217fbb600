/**
 * The words of a quota: the limits of a subject, the counts, and what a decision says. Shared by every store, so that a
 * request is judged and described the same way wherever its counters live.
 */
import type { PlanConfig } from '../../config/model/schema.js';
import { perWindow, WINDOWS, type PerWindow, type WindowName } from '../../platform/quotas/windows.js';
import type { MonthPeriod } from './month-period.js';

/** The limits in force for one key, by window; `Infinity` where a plan names none. */
export type QuotaLimits = PerWindow<number>;

/** What a plan wants while the counters cannot be reached. */
export type OnStoreLoss = PlanConfig['onRedisLoss'];

/** Which responses a plan charges for. */
export type Charge = PlanConfig['charge'];

/** The counts of a key and its account by window, as they stood at one instant. */
export type QuotaCounts = Writable<QuotaLimits>;

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

export const NOTHING_USED: Readonly<QuotaCounts> = perWindow(() => 0);

/** Where a decision's numbers come from. `open`: nobody counted, so there is nothing to report. */
export type DecisionSource = 'store' | 'local' | 'open';

/** The verdict on one request. `admitted: false` means refused, never failed: a store that fails rejects. */
export interface QuotaDecision {
  readonly admitted: boolean;
  readonly source: DecisionSource;
  readonly cost: number;
  /** Time of the store that decided, milliseconds. */
  readonly nowMs: number;
  readonly period: MonthPeriod;
  /** Counts after the decision. */
  readonly used: Readonly<QuotaCounts>;
  /** When the minute windows next give something back, milliseconds of the store's time; 0: nothing is used. */
  readonly keyMinuteResetMs: number;
  readonly accountMinuteResetMs: number;
  /** Windows that refused, as bits by their index; 0 when admitted. */
  readonly violated: number;
  /** Refused because this node's share of what is left is used up, while the shared counters are away. */
  readonly ofShare?: boolean;
  /** The earliest instant (store's time, ms) at which the same request can be admitted; 0 when admitted. */
  readonly retryAtMs: number;
  /**
   * What became of it under the shadow limits, where the plan has any: a decision, undefined where none could be had.
   */
  shadow?: QuotaDecision | Promise<QuotaDecision | undefined>;
}

/** The limits that a plan sets. */
export function limitsOf(plan: Pick<PlanConfig, 'key' | 'account'>): QuotaLimits {
  return perWindow(({ of, period }) => plan[of][period] ?? Infinity);
}

/** The counts after `cost` was counted in every window. Written out, because every decision makes them. */
export function countsPlus(counts: Readonly<QuotaCounts>, cost: number): QuotaCounts {
  return [counts[0] + cost, counts[1] + cost, counts[2] + cost, counts[3] + cost, counts[4] + cost, counts[5] + cost];
}

/** The counts after `cost` was refunded in every window. */
export function countsMinus(counts: Readonly<QuotaCounts>, cost: number): QuotaCounts {
  return perWindow((_, index) => Math.max(0, counts[index]! - cost)) as QuotaCounts;
}

/** Counts with those of some windows replaced, by index. */
export function countsWith(counts: Readonly<QuotaCounts>, changes: Readonly<Record<number, number>>): QuotaCounts {
  return perWindow((_, index) => changes[index] ?? counts[index]!) as QuotaCounts;
}

/**
 * How many requests of `cost` fit under the limits, beside what is used; 0 when one of the windows is full. Written
 * out, because every decision in the process asks it.
 */
export function roomFor(limits: QuotaLimits, used: Readonly<QuotaCounts>, cost: number): number {
  if (cost === 0) return Infinity;
  const ofMinutes = Math.min(limits[0] - used[0], limits[1] - used[1]);
  const ofMonths = Math.min(limits[2] - used[2], limits[3] - used[3]);
  const room = Math.min(ofMinutes, ofMonths, limits[4] - used[4], limits[5] - used[5]);
  return room < cost ? 0 : Math.floor(room / cost);
}

/** The windows that have no room for `cost`, as bits. */
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

/** Names of the windows in a set of bits, in the order of the headers. */
export function policyNames(bits: number): readonly WindowName[] {
  return NAMES_OF_BITS[bits] ?? [];
}
