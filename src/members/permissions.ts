/**
 * Roles and permissions of the admin API. `admin/openapi/operations.ts` has the permission of each operation. The panel
 * loads this file into browsers, so the file imports nothing.
 */

/** Roles in an account. Portal sessions and account tokens have a role too. */
export const ROLES = ['owner', 'admin', 'viewer'] as const;
export type Role = (typeof ROLES)[number];

/** The access of a caller who grants or removes roles. */
export type CallerAccess = Role | 'operator';

/**
 * Reports whether the caller may grant and remove these roles. Only owners and operators may grant or remove `owner`.
 */
export function canGrant(giver: CallerAccess, ...roles: readonly Role[]): boolean {
  if (giver === 'operator' || giver === 'owner') return true;
  return giver === 'admin' && !roles.includes('owner');
}

/** Subject of an operation: anyone without a sign-in, the caller's own profile, an account, or the installation. */
export type OperationSubject = 'anybody' | 'oneself' | 'account' | 'installation';

/** Permission says who may call an operation. */
export interface Permission {
  readonly about: OperationSubject;
  /** Account roles that may call the operation. Empty means operators only. Operators may call every operation. */
  readonly roles: readonly Role[];
  /**
   * Bearer tokens that may call the operation: account tokens and the operator token, the operator token alone, or
   * none.
   */
  readonly tokens: 'any' | 'operator' | 'none';
  /** Whether portal sessions may call the operation. */
  readonly portal: boolean;
  /** Access of portal sessions that are limited to scopes. */
  readonly limitedPortal: LimitedPortal;
  /** When the operation requires that the member has confirmed their identity in the last ten minutes. */
  readonly confirm: Confirm;
}

/**
 * Access of portal sessions that are limited to scopes. `yes` is full access. `keys` is access to keys within those
 * scopes. Events name no scope that covers their data, so events and webhooks are `no`.
 */
export type LimitedPortal = 'yes' | 'keys' | 'no';

/**
 * When an operation needs a recent confirmation. With `when_widening`, the store asks `widensAccess` about the locked
 * row, and only changes that widen access need one. Operations with `never` cannot widen access.
 */
export type Confirm = 'never' | 'when_widening' | 'always';

/** The roles that may change an account and its resources. */
export const MANAGERS = ['owner', 'admin'] as const satisfies readonly Role[];

/**
 * Account roles that may create each type of credential. Empty means operators only. When a creator loses these roles,
 * `credential-ends.ts` ends the credential.
 */
export const CREATOR_ROLES = {
  account_token: MANAGERS,
  invitation: MANAGERS,
  oauth_grant: MANAGERS,
  password_link: [],
  portal_session: [],
} as const satisfies Record<string, readonly Role[]>;
