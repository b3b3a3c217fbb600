/**
 * Computes the limits in force: the plan's limits, with the overrides of one key and the grants of the current month.
 * Counters do not store limits. A changed limit therefore applies from the next decision on, and the usage is kept.
 */
import { LARGEST_LIMIT } from '../../config/model/plan-schema.js';
import type { PlanConfig } from '../../config/model/schema.js';
import { perWindow, type WindowPeriod } from '../../platform/quotas/windows.js';
import { limitsOf, type QuotaLimits } from './policies.js';

/**
 * KeyLimits overrides the plan's limits for one key. A number replaces the limit, null removes the limit, and undefined
 * keeps the plan's limit.
 */
export type KeyLimits = { readonly [Period in WindowPeriod]?: number | null | undefined };

/** MonthGrant adds `amount` to the limit of one month. `month` is the label of that month. */
export interface MonthGrant {
  readonly month: number;
  readonly amount: number;
}

/** LimitChanges holds all differences between the limits of a key and its account, and the limits of their plan. */
export interface LimitChanges {
  readonly keyLimits: KeyLimits | null;
  readonly accountGrant: MonthGrant;
  readonly keyGrant: MonthGrant;
}

export const NO_GRANT: MonthGrant = { month: 0, amount: 0 };

/** Shared value for keys without changes, which are most keys. */
export const NO_LIMIT_CHANGES: LimitChanges = { keyLimits: null, accountGrant: NO_GRANT, keyGrant: NO_GRANT };

/**
 * Returns the amount granted in the month with this label. A grant with a later label also applies. It was made when
 * the month had that label, before the account's billing day was changed.
 */
export function grantedIn({ month, amount }: MonthGrant, label: number): number {
  return month >= label ? amount : 0;
}

/** Reports whether a grant raises a limit in the month with this label. */
export function hasGrantIn({ accountGrant, keyGrant }: LimitChanges, label: number): boolean {
  return grantedIn(accountGrant, label) > 0 || grantedIn(keyGrant, label) > 0;
}

/**
 * Returns the limits in the month with this label. Grants raise a limit to at most `LARGEST_LIMIT`, and do not change
 * an unlimited window.
 */
export function effectiveLimits(
  plan: Pick<PlanConfig, 'key' | 'account'>,
  changes: LimitChanges,
  label: number,
): QuotaLimits {
  const limits = limitsOf(plan);
  if (changes === NO_LIMIT_CHANGES) return limits;
  const { keyLimits, accountGrant, keyGrant } = changes;
  return perWindow(({ of, period }, index) => {
    const limit = of === 'key' ? withOverride(limits[index]!, keyLimits?.[period]) : limits[index]!;
    return period === 'month' ? withGrant(limit, grantedIn(of === 'key' ? keyGrant : accountGrant, label)) : limit;
  });
}

function withOverride(limit: number, override: number | null | undefined): number {
  if (override === undefined) return limit;
  return override ?? Infinity;
}

function withGrant(limit: number, granted: number): number {
  return limit === Infinity ? limit : Math.min(LARGEST_LIMIT, limit + granted);
}
