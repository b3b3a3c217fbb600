/**
 * The limits in force: the plan's, changed by what was set for one key and by what was granted until the month ends.
 * Limits live outside the counters, so a change of them is in force with the next decision and keeps what was used.
 */
import { LARGEST_LIMIT } from '../../config/model/plan-schema.js';
import type { PlanConfig } from '../../config/model/schema.js';
import { perWindow, type WindowPeriod } from '../../platform/quotas/windows.js';
import { limitsOf, type QuotaLimits } from './policies.js';

/** Limits of one key in the place of its plan's: a number, null for none; a window that is not named is the plan's. */
export type KeyLimits = { readonly [Period in WindowPeriod]?: number | null | undefined };

/** Requests on top of a month limit until the month with this label ends. */
export interface MonthGrant {
  readonly month: number;
  readonly amount: number;
}

/** Everything that makes the limits of a key and its account differ from their plan's. */
export interface LimitChanges {
  readonly keyLimits: KeyLimits | null;
  readonly accountGrant: MonthGrant;
  readonly keyGrant: MonthGrant;
}

export const NO_GRANT: MonthGrant = { month: 0, amount: 0 };

/** The one value for keys of which nothing was changed: most of them. */
export const NO_LIMIT_CHANGES: LimitChanges = { keyLimits: null, accountGrant: NO_GRANT, keyGrant: NO_GRANT };

/**
 * What is granted in the month with this label. Like a counter, a grant of a later month goes on: the billing day was
 * moved.
 */
export function grantedIn({ month, amount }: MonthGrant, label: number): number {
  return month >= label ? amount : 0;
}

/** Whether the limits of this month end with it. */
export function hasGrantIn({ accountGrant, keyGrant }: LimitChanges, label: number): boolean {
  return grantedIn(accountGrant, label) > 0 || grantedIn(keyGrant, label) > 0;
}

/** The limits in the month with this label. What is unlimited stays so. */
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
