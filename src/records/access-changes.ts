/**
 * Decides whether a change widens access, with one rule for each kind of change. A store calls
 * `ChangeContext.authorize` with the row before and after the change, in the transaction that writes the row. Changes
 * that narrow access, such as pausing a key, need no confirmation of the member's identity.
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
  /** Allowed addresses and blocks. Empty: any address. */
  readonly allowedIps: readonly string[];
  /** Expiration in milliseconds since the epoch. Null if the key does not expire. */
  readonly expiresAt: number | null;
  /** Effective limits: the limits of the plan, replaced by the limits of the key. */
  readonly limits: QuotaLimits;
}

/** AccessChanges lists the compared fields for each kind of change. */
export interface AccessChanges {
  readonly api_key: KeyAccess;
  readonly account: { readonly isActive: boolean; readonly billingDay: number; readonly limits: QuotaLimits };
  readonly account_member: { readonly role: 'owner' | 'admin' | 'viewer' };
  readonly member: { readonly isActive: boolean; readonly isOperator: boolean };
  readonly webhook_endpoint: {
    readonly isEnabled: boolean;
    readonly url: string;
    /** Event types and families of event types that the endpoint receives. Empty: all. */
    readonly eventTypes: readonly string[];
  };
  /** Time from which the current URL of an endpoint may receive events, in milliseconds since the epoch. */
  readonly webhook_history: { readonly sinceMs: number };
}

/**
 * Checks whether the actor may make the change. Throws a `Problem` if not.
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
    // A new billing day can start a new month, and so reset the count.
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

/** Reports whether a change gives anyone access that they did not have. Creating something always widens access. */
export function widensAccess<Kind extends keyof AccessChanges>(
  kind: Kind,
  before: AccessChanges[Kind] | null,
  after: AccessChanges[Kind],
): boolean {
  return before === null || WIDENS[kind](before, after);
}

/**
 * Returns the limits of a plan without grants. The limits of a key, if given, replace the limits of the plan.
 * @param plan undefined if the plan is not configured. Only the key's limits then apply.
 */
export function limitsInForce(plan: PlanConfig | undefined, keyLimits: KeyLimits | null = null): QuotaLimits {
  const changes = { keyLimits, accountGrant: NO_GRANT, keyGrant: NO_GRANT };
  return effectiveLimits(plan ?? { key: {}, account: {} }, changes, 0);
}

function areHigher(before: QuotaLimits, after: QuotaLimits): boolean {
  return after.some((limit, index) => limit > before[index]!);
}

/**
 * Reports whether the new address list allows an address that the old list refused. An empty list allows every address.
 */
function admitsMore(before: readonly string[], after: readonly string[]): boolean {
  if (before.length === 0) return false;
  return after.length === 0 || !after.every((entry) => before.some((block) => containsNetwork(block, entry)));
}

/**
 * Reports whether the new list of event types includes a type or family that the old list did not include. An empty
 * list includes all types.
 */
function wantsMore(before: readonly string[], after: readonly string[]): boolean {
  if (before.length === 0) return false;
  return after.length === 0 || !after.every((pattern) => before.includes(pattern) || wantsType(before, pattern));
}
