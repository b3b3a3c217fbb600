/**
 * Roles and permissions of the admin API. `admin/openapi/operations.ts` has the permission of each operation. The panel loads
 * this file into browsers, so it imports nothing.
 */

/** Roles in an account. Portal sessions and account tokens have one, too. */
export const ROLES = ['owner', 'admin', 'viewer'] as const;
export type Role = (typeof ROLES)[number];

/** The access of a caller who grants or removes roles. */
export type Giver = Role | 'operator';

/**
 * Reports whether the caller may grant and remove these roles. Only owners and operators may grant or remove `owner`.
 */
export function mayGive(giver: Giver, ...roles: readonly Role[]): boolean {
  if (giver === 'operator' || giver === 'owner') return true;
  return giver === 'admin' && !roles.includes('owner');
}

/** Scope of an operation: no sign-in needed, the caller's own profile, an account, or the installation. */
export type About = 'anybody' | 'oneself' | 'account' | 'installation';

/** Permission says who may call an operation. */
export interface Permission {
  readonly about: About;
  /** Account roles that may call it. Empty means operators only. Operators may call everything. */
  readonly roles: readonly Role[];
  /** Bearer tokens that may call it: account tokens and the operator token, the operator token alone, or none. */
  readonly tokens: 'any' | 'operator' | 'none';
  /** Whether portal sessions may call it. */
  readonly portal: boolean;
  /** Access of portal sessions that are limited to scopes. */
  readonly limitedPortal: LimitedPortal;
  /** When the member must have confirmed their identity in the last ten minutes. */
  readonly confirm: Confirm;
}

/**
 * Access of portal sessions that are limited to scopes. `yes` is full access. `keys` is access to keys within those
 * scopes. Events name no scope that covers their data, so events and webhooks are `no`.
 */
export type LimitedPortal = 'yes' | 'keys' | 'no';

/**
 * When an operation needs a recent confirmation. `when_widening` asks only if `widensAccess` finds that the change
 * widens access. The store decides that on the locked row. Operations with `never` cannot widen access.
 */
export type Confirm = 'never' | 'when_widening' | 'always';

/** The roles that change an account. */
export const MANAGERS = ['owner', 'admin'] as const satisfies readonly Role[];

/**
 * The roles that may make each credential; empty: operators only. A credential works only while its creator may make
 * it, so this holds for the operation that makes one and for every use of it.
 */
export const MAKERS = {
  account_token: MANAGERS,
  invitation: MANAGERS,
  oauth_grant: MANAGERS,
  password_link: [],
  portal_session: [],
} as const satisfies Record<string, readonly Role[]>;
