/**
 * Decides whether a change widens access, with one rule for each kind of change. A store calls
 * `ChangeContext.authorize` with the row before and after the change, in the transaction that writes the row. Changes
 * that narrow access, such as pausing a key, need no confirmation of identity.
 */
import type { PlanConfig } from '../config/model/schema.js';
import { wantsType } from '../outbox/fan-out.js';
import { missingScopes } from '../keys/scopes.js';
import { effectiveLimits, NO_GRANT, type KeyLimits } from '../quota/model/effective-limits.js';
import type { QuotaLimits } from '../quota/model/policies.js';
import { containsNetwork } from '../platform/network-list.js';

export interface KeyAccess {
  readonly isActive: boolean;
  readonly scopes: readonly string[];
  /** Empty for any address. */
  readonly allowedIps: readonly string[];
  /** Milliseconds since the epoch. Null if the key does not expire. */
  readonly expiresAt: number | null;
  /** Effective limits, including the plan's. */
  readonly limits: QuotaLimits;
}

/** AccessChanges lists the fields that are compared before and after a change, by kind. */
export interface AccessChanges {
  readonly api_key: KeyAccess;
  readonly account: { readonly isActive: boolean; readonly billingDay: number; readonly limits: QuotaLimits };
  readonly account_member: { readonly role: 'owner' | 'admin' | 'viewer' };
  readonly member: { readonly isActive: boolean; readonly isOperator: boolean };
  readonly webhook_endpoint: {
    readonly isEnabled: boolean;
    readonly url: string;
    /** Event types and families of types. Empty for all. */
    readonly eventTypes: readonly string[];
  };
  /** The oldest events that the current URL of an endpoint may receive, in milliseconds since the epoch. */
  readonly webhook_history: { readonly sinceMs: number };
}

/**
 * Throws a `Problem` if the actor may not make the change.
 * @param before null if the change creates something
 */
export type AuthorizeChange = <Kind extends keyof AccessChanges>(
  kind: Kind,
  before: AccessChanges[Kind] | null,
  after: AccessChanges[Kind],
) => void;

const ROLE_RANKS = { viewer: 0, admin: 1, owner: 2 } as const;

const WIDENS: {
  readonly [Kind in keyof AccessChanges]: (before: AccessChanges[Kind], after: AccessChanges[Kind]) => boolean;
} = {
  api_key: (before, after) =>
    (after.isActive && !before.isActive) ||
    missingScopes(before.scopes, after.scopes).length > 0 ||
    admitsMore(before.allowedIps, after.allowedIps) ||
    (after.expiresAt ?? Infinity) > (before.expiresAt ?? Infinity) ||
    areHigher(before.limits, after.limits),
  account: (before, after) =>
    (after.isActive && !before.isActive) ||
    // Another billing day can restart the month's count.
    after.billingDay !== before.billingDay ||
    areHigher(before.limits, after.limits),
  account_member: (before, after) => ROLE_RANKS[after.role] > ROLE_RANKS[before.role],
  member: (before, after) => (after.isActive && !before.isActive) || (after.isOperator && !before.isOperator),
  webhook_endpoint: (before, after) =>
    (after.isEnabled && !before.isEnabled) ||
    after.url !== before.url ||
    wantsMore(before.eventTypes, after.eventTypes),
  webhook_history: (before, after) => after.sinceMs < before.sinceMs,
};

/** Reports whether a change gives anyone access that they did not have. Creating something always does. */
export function widensAccess<Kind extends keyof AccessChanges>(
  kind: Kind,
  before: AccessChanges[Kind] | null,
  after: AccessChanges[Kind],
): boolean {
  return before === null || WIDENS[kind](before, after);
}

/**
 * Returns the limits of a plan, overridden by those of a key, without grants.
 * @param plan undefined if the plan is not configured; then only the key's limits apply
 */
export function limitsInForce(plan: PlanConfig | undefined, keyLimits: KeyLimits | null = null): QuotaLimits {
  const changes = { keyLimits, accountGrant: NO_GRANT, keyGrant: NO_GRANT };
  return effectiveLimits(plan ?? { key: {}, account: {} }, changes, 0);
}

function areHigher(before: QuotaLimits, after: QuotaLimits): boolean {
  return after.some((limit, index) => limit > before[index]!);
}

/** Reports whether the new address list admits an address that the old list refused. An empty list admits all. */
function admitsMore(before: readonly string[], after: readonly string[]): boolean {
  if (before.length === 0) return false;
  return after.length === 0 || !after.every((entry) => before.some((block) => containsNetwork(block, entry)));
}

/**
 * Reports whether the new list of event types includes a type or family that the old list did not. An empty list
 * includes all.
 */
function wantsMore(before: readonly string[], after: readonly string[]): boolean {
  if (before.length === 0) return false;
  return after.length === 0 || !after.every((pattern) => before.includes(pattern) || wantsType(before, pattern));
}
