/**
 * The words of a quota: the four policies, the limits of a subject, and what a decision says. Shared by every store,
 * so that a request is judged and described the same way wherever its counters live. CONTRIBUTING.md says what else a
 * new window asks for.
 */
import type { PlanConfig } from '../../config/model/schema.js';
import type { MonthPeriod } from './month-period.js';

/** Bits of `QuotaDecision.violated`, and the order of the policies in the headers. */
export const KEY_MINUTE = 1;
export const ACCOUNT_MINUTE = 2;
export const ACCOUNT_MONTH = 4;
export const KEY_MONTH = 8;

export const POLICY_NAMES = [
  [KEY_MINUTE, 'key-minute'],
  [ACCOUNT_MINUTE, 'account-minute'],
  [ACCOUNT_MONTH, 'account-month'],
  [KEY_MONTH, 'key-month'],
] as const;

/** PolicyName is one of the four windows, as the response fields call it. */
export type PolicyName = (typeof POLICY_NAMES)[number][1];

/** The limits in force for one key; `Infinity` where a plan names none. */
export interface QuotaLimits {
  readonly keyMinute: number;
  readonly accountMinute: number;
  readonly accountMonth: number;
  readonly keyMonth: number;
}

/** What a plan wants while the counters cannot be reached. */
export type OnStoreLoss = PlanConfig['onRedisLoss'];

/** Which responses a plan charges for. */
export type Charge = PlanConfig['charge'];

/** The four counts of a key and its account, as they stood at one instant. */
export interface QuotaCounts {
  keyMinute: number;
  accountMinute: number;
  accountMonth: number;
  keyMonth: number;
}

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
  /** Policies that refused, as bits; 0 when admitted. */
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
  return {
    keyMinute: plan.key.minute ?? Infinity,
    accountMinute: plan.account.minute ?? Infinity,
    accountMonth: plan.account.month ?? Infinity,
    keyMonth: plan.key.month ?? Infinity,
  };
}

/** How many requests of `cost` fit under the limits, beside what is used; 0 when one of the windows is full. */
export function roomFor(limits: QuotaLimits, used: QuotaCounts, cost: number): number {
  if (cost === 0) return Infinity;
  const room = Math.min(
    limits.keyMinute - used.keyMinute,
    limits.accountMinute - used.accountMinute,
    limits.accountMonth - used.accountMonth,
    limits.keyMonth - used.keyMonth,
  );
  return room < cost ? 0 : Math.floor(room / cost);
}

/** The policies that have no room for `cost`, as bits. */
export function violatedBy(limits: QuotaLimits, used: QuotaCounts, cost: number): number {
  let bits = 0;
  if (limits.keyMinute - used.keyMinute < cost) bits |= KEY_MINUTE;
  if (limits.accountMinute - used.accountMinute < cost) bits |= ACCOUNT_MINUTE;
  if (limits.accountMonth - used.accountMonth < cost) bits |= ACCOUNT_MONTH;
  if (limits.keyMonth - used.keyMonth < cost) bits |= KEY_MONTH;
  return bits;
}

const NAMES_OF_BITS: readonly (readonly PolicyName[])[] = Array.from({ length: 2 ** POLICY_NAMES.length }, (_, bits) =>
  POLICY_NAMES.filter(([bit]) => (bits & bit) !== 0).map(([, name]) => name),
);

/** Names of the policies in a set of bits, in the order of the headers. */
export function policyNames(bits: number): readonly PolicyName[] {
  return NAMES_OF_BITS[bits] ?? [];
}
