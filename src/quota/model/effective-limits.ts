/**
 * The limits in force: the plan's limits, with the overrides of one key and the grants of the current month applied.
 * Limits are not part of counters. A change takes effect with the next decision and keeps the usage.
 */
import { LARGEST_LIMIT } from '../../config/model/plan-schema.js';
import type { PlanConfig } from '../../config/model/schema.js';
import { perWindow, type WindowPeriod } from '../../platform/quotas/windows.js';
import { limitsOf, type QuotaLimits } from './policies.js';

/**
 * KeyLimits overrides the plan's limits for one key. A number replaces the limit, null removes it, and undefined keeps
 * the plan's.
 */
export type KeyLimits = { readonly [Period in WindowPeriod]?: number | null | undefined };

/** MonthGrant adds requests to a month limit until the month with this label ends. */
export interface MonthGrant {
  readonly month: number;
  readonly amount: number;
}

/** LimitChanges is everything that makes the limits of a key and its account differ from their plan's. */
export interface LimitChanges {
  readonly keyLimits: KeyLimits | null;
  readonly accountGrant: MonthGrant;
  readonly keyGrant: MonthGrant;
}

export const NO_GRANT: MonthGrant = { month: 0, amount: 0 };

/** The shared value for keys without changes, which are most keys. */
export const NO_LIMIT_CHANGES: LimitChanges = { keyLimits: null, accountGrant: NO_GRANT, keyGrant: NO_GRANT };

/**
 * Returns the amount granted in the month with this label. A grant of a later month continues, like a counter: the
 * billing day was moved.
 */
export function grantedIn({ month, amount }: MonthGrant, label: number): number {
  return month >= label ? amount : 0;
}

/** Reports whether a grant raises the limits of this month. */
export function hasGrantIn({ accountGrant, keyGrant }: LimitChanges, label: number): boolean {
  return grantedIn(accountGrant, label) > 0 || grantedIn(keyGrant, label) > 0;
}

/** Returns the limits in the month with this label. Grants do not change an unlimited window. */
export function effectiveLimits(
  plan: Pick<PlanConfig, 'key' | 'account'>,
  changes: LimitChanges,
  label: number,
): QuotaLimits {
  const limits = limitsOf(plan);
  if (changes === NO_LIMIT_CHANGES) return limits;
  const { keyLimits, accountGrant, keyGrant } = changes;
  return perWindow(({ of, period }, index) => {
    const limit = of === 'key' ? overridden(limits[index]!, keyLimits?.[period]) : limits[index]!;
    return period === 'month' ? raised(limit, grantedIn(of === 'key' ? keyGrant : accountGrant, label)) : limit;
  });
}

function overridden(limit: number, by: number | null | undefined): number {
  if (by === undefined) return limit;
  return by ?? Infinity;
}

function raised(limit: number, granted: number): number {
  return limit === Infinity ? limit : Math.min(LARGEST_LIMIT, limit + granted);
}
