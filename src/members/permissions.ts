/**
 * Permissions of the admin API, one row per operation. The guard, the OpenAPI description, the panel and the tests all
 * read this table. The panel bundles this file, so it imports nothing.
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

const MANAGERS = ['owner', 'admin'] as const;

const read = {
  about: 'account',
  roles: ROLES,
  tokens: 'any',
  portal: true,
  limitedPortal: 'yes',
  confirm: 'never',
} as const;
const readKeys = { ...read, limitedPortal: 'keys' } as const;
const manage = { ...read, roles: MANAGERS, limitedPortal: 'keys' } as const;
const widen = { ...manage, confirm: 'when_widening' } as const;
const secret = { ...manage, confirm: 'always' } as const;
const hooks = { ...manage, limitedPortal: 'no' } as const;
const people = {
  about: 'account',
  roles: MANAGERS,
  tokens: 'operator',
  portal: false,
  limitedPortal: 'no',
  confirm: 'always',
} as const;
const self = { ...people, about: 'oneself', roles: ROLES, tokens: 'none', confirm: 'never' } as const;
const factor = { ...self, confirm: 'always' } as const;
const everyone = { ...self, tokens: 'any', portal: true, limitedPortal: 'yes' } as const;
const open = { ...everyone, about: 'anybody' } as const;
const operate = { ...people, about: 'installation', roles: [], confirm: 'never' } as const;

export const PERMISSIONS = {
  getSignInWays: open,
  signInWithPassword: open,
  signInWithSecondFactor: open,
  beginProviderSignIn: open,
  finishProviderSignIn: open,
  beginPasskeySignIn: open,
  signInWithPasskey: open,
  readLink: open,
  takeLink: open,
  requestPasswordReset: open,
  signOut: { ...self, portal: true, limitedPortal: 'yes' },
  getMe: everyone,
  updateMe: self,
  requestAddressVerification: self,
  confirm: self,
  changePassword: factor,
  listMySessions: self,
  endSession: self,
  endMyOtherSessions: self,
  leaveAccount: self,
  beginPasskeyConfirmation: self,
  listMyIdentities: self,
  deleteMyIdentity: factor,
  listMyPasskeys: self,
  beginPasskey: factor,
  addPasskey: factor,
  renamePasskey: self,
  deletePasskey: factor,
  getMySecondFactor: self,
  beginTotp: factor,
  confirmTotp: factor,
  deleteTotp: factor,
  createRecoveryCodes: factor,

  getOpenApiDocument: everyone,
  listScopes: everyone,
  listPlans: everyone,
  listOperations: everyone,

  // Returns only the accounts that the caller can see.
  listAccounts: everyone,
  getAccount: read,
  // Plan, status, time zone and billing day are commercial terms, so only operators change them.
  createAccount: operate,
  updateAccount: { ...operate, confirm: 'when_widening' },

  listApiKeys: readKeys,
  getApiKey: readKeys,
  getApiKeyImpact: readKeys,
  createApiKey: secret,
  rotateApiKey: secret,
  updateApiKey: widen,
  pauseApiKey: manage,
  resumeApiKey: widen,
  // Revoking must be quick, so it needs no confirmation.
  revokeApiKey: manage,
  endPreviousApiKeySecret: manage,

  // OAuth consent needs a signed-in person.
  getAuthorizationRequest: self,
  denyAuthorizationRequest: self,
  approveAuthorizationRequest: { ...secret, tokens: 'none', portal: false, limitedPortal: 'no' },

  getUsage: readKeys,
  listQuotaAdjustments: readKeys,
  createQuotaAdjustment: { ...operate, confirm: 'always' },
  // Events contain customer data.
  listEvents: hooks,
  getEvent: hooks,
  listEventTypes: everyone,

  listWebhookEndpoints: { ...hooks, roles: ROLES },
  getWebhookEndpoint: { ...hooks, roles: ROLES },
  createWebhookEndpoint: { ...hooks, confirm: 'always' },
  rotateWebhookSecret: { ...hooks, confirm: 'always' },
  updateWebhookEndpoint: { ...hooks, confirm: 'when_widening' },
  endPreviousWebhookSecret: hooks,
  deleteWebhookEndpoint: hooks,
  testWebhookEndpoint: hooks,
  replayWebhookDeliveries: { ...hooks, confirm: 'when_widening' },
  retryWebhookDelivery: { ...hooks, confirm: 'when_widening' },
  listWebhookDeliveries: hooks,
  getWebhookDelivery: hooks,

  explain: readKeys,
  listMcpTools: read,
  // Request logs contain client addresses.
  listRequests: { ...readKeys, roles: MANAGERS },
  getRequest: { ...readKeys, roles: MANAGERS },
  listAuditLog: { ...read, roles: MANAGERS, portal: false, limitedPortal: 'no' },

  listAccountMembers: { ...people, roles: ROLES, confirm: 'never' },
  updateAccountMember: { ...people, confirm: 'when_widening' },
  removeAccountMember: { ...people, confirm: 'never' },
  getAccountMemberImpact: { ...people, confirm: 'never' },
  listInvitations: { ...people, confirm: 'never' },
  createInvitation: people,
  resendInvitation: people,
  revokeInvitation: { ...people, confirm: 'never' },

  listAccountTokens: { ...people, confirm: 'never' },
  createAccountToken: people,
  revokeAccountToken: { ...people, confirm: 'never' },

  createPortalSession: { ...operate, confirm: 'always' },
  endPortalSessions: operate,

  listMembers: operate,
  getMember: operate,
  createMember: { ...operate, confirm: 'always' },
  updateMember: { ...operate, confirm: 'when_widening' },
  createPasswordResetLink: { ...operate, confirm: 'always' },
  listMemberSessions: operate,
  endMemberSessions: operate,
  removeSecondFactor: { ...operate, confirm: 'always' },
  forgetMember: { ...operate, confirm: 'always' },

  listAllQuotaAdjustments: operate,
  listTargets: operate,
  getHealth: operate,
  getDeprecatedCalls: operate,
} as const satisfies Record<string, Permission>;

/** Operation ID in the admin API. */
export type OperationId = keyof typeof PERMISSIONS;

/** Throws if an operation has no row, or a row has no operation. */
export function checkPermissions(ids: readonly string[]): void {
  const without = ids.filter((id) => !(id in PERMISSIONS));
  if (without.length > 0) throw new Error(`no permission is written down for ${without.join(', ')}`);
  const unused = Object.keys(PERMISSIONS).filter((id) => !ids.includes(id));
  if (unused.length > 0) throw new Error(`permissions of no operation: ${unused.join(', ')}`);
}
