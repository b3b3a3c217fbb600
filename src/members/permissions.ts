/**
 * Defines the roles and permissions of the admin API. `admin/openapi/operations.ts` has the permission of each
 * operation. The panel loads this file into browsers, so the file imports nothing.
 */

/** Roles in an account, highest first. Members, portal sessions and account tokens each have a role. */
export const ROLES = ['owner', 'admin', 'viewer'] as const;
export type Role = (typeof ROLES)[number];

/** CallerAccess is the access of a caller: a role in the account, or the rights of an operator. */
export type CallerAccess = Role | 'operator';

/**
 * Reports whether the caller may grant and remove these roles. Only owners and operators may grant or remove `owner`.
 * Viewers may grant no role.
 */
export function canGrant(callerAccess: CallerAccess, ...roles: readonly Role[]): boolean {
  if (callerAccess === 'operator' || callerAccess === 'owner') return true;
  return callerAccess === 'admin' && !roles.includes('owner');
}

/**
 * OperationSubject is what an operation is about. `anybody` needs no sign-in, `oneself` is the caller's own profile,
 * `account` is one account, and `installation` is the whole installation.
 */
export type OperationSubject = 'anybody' | 'oneself' | 'account' | 'installation';

/** Permission states who may call an operation. */
export interface Permission {
  readonly about: OperationSubject;
  /** Account roles that may call the operation. Empty means operators only. Operators may call every operation. */
  readonly roles: readonly Role[];
  /**
   * Bearer tokens that may call the operation. `any` means account tokens and the operator token, and `operator` means
   * the operator token alone.
   */
  readonly tokens: 'any' | 'operator' | 'none';
  /** Whether portal sessions may call the operation. */
  readonly portal: boolean;
  /** Access of portal sessions that are limited to keys with certain scopes. */
  readonly limitedPortal: LimitedPortal;
  /** When the operation requires that the member confirmed their identity in the last ten minutes. */
  readonly confirm: Confirm;
}

/**
 * Reports whether callers need no credentials for an operation. Examples are the operations of a sign-in. Other guards
 * still check their requests, unlike the requests of a controller with `@Public`.
 */
export function needsNoSignIn({ about }: Pick<Permission, 'about'>): boolean {
  return about === 'anybody';
}

/**
 * LimitedPortal is the access of portal sessions that are limited to keys with certain scopes. `yes` is full access.
 * `keys` is access to the keys within those scopes. Events and webhooks are `no`, because events name no scope that
 * covers their data.
 */
export type LimitedPortal = 'yes' | 'keys' | 'no';

/**
 * Confirm states when an operation needs a recent confirmation of identity. With `when_widening`, only changes that
 * widen access need a confirmation. The store then calls `ChangeContext.authorize` with the locked row. Operations with
 * `never` cannot widen access.
 */
export type Confirm = 'never' | 'when_widening' | 'always';

/** Account roles that may change an account and its resources. */
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
