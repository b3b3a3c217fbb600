/**
 * Who may do what: one row for each operation of the admin API. The guard, the API's description, the panel and the
 * tests read this table and nothing else, so it imports nothing.
 */

/** What somebody is in an account; a portal session and an account token have one of them, too. */
export const ROLES = ['owner', 'admin', 'viewer'] as const;
export type Role = (typeof ROLES)[number];

/** What somebody who changes members is there themselves. */
export type Giver = Role | 'operator';

/** Whether the giver may give and take these roles: nobody gives or takes more than they have. */
export function mayGive(giver: Giver, ...roles: readonly Role[]): boolean {
  if (giver === 'operator' || giver === 'owner') return true;
  return giver === 'admin' && !roles.includes('owner');
}

/** What an operation is about: nothing that needs a sign-in, the caller, an account, or the installation. */
export type About = 'anybody' | 'oneself' | 'account' | 'installation';

/** Permission says who may call an operation. */
export interface Permission {
  readonly about: About;
  /** Roles of the account that may; empty: operators only. Operators may everything. */
  readonly roles: readonly Role[];
  /** Which bearer tokens may: account tokens in their role and the operators' token, that one alone, or none. */
  readonly tokens: 'any' | 'operator' | 'none';
  /** Whether a portal session may. */
  readonly portal: boolean;
  /** What of it a portal session may that is limited to scopes. */
  readonly limitedPortal: LimitedPortal;
  /** When a member must have confirmed in the last ten minutes that it is them. */
  readonly confirm: Confirm;
}

/**
 * What a portal session may that is limited to scopes: `yes`, as any other; `keys`, only for keys whose scopes it has;
 * `no`, nothing. Events name no scope that covers their data, so events and webhooks are `no`.
 */
export type LimitedPortal = 'yes' | 'keys' | 'no';

/**
 * When an operation asks for a confirmation. `when_widening`: only for a change that `widensAccess` calls wider, which
 * the store decides on the row that it changes. A `never` row has no change that widens.
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

  // Each sees what is theirs.
  listAccounts: everyone,
  getAccount: read,
  // Plan, status, zone and billing day are what is paid for.
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
  // Taking away must be quick.
  revokeApiKey: manage,
  endPreviousApiKeySecret: manage,

  // A person says so, to whom a browser was sent.
  getAuthorizationRequest: self,
  denyAuthorizationRequest: self,
  approveAuthorizationRequest: { ...secret, tokens: 'none', portal: false, limitedPortal: 'no' },

  getUsage: readKeys,
  listQuotaAdjustments: readKeys,
  createQuotaAdjustment: { ...operate, confirm: 'always' },
  // What events are about is the data of customers.
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
  // Where people were is not for everybody.
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

/** The id of an operation of the admin API. */
export type OperationId = keyof typeof PERMISSIONS;

/** Throws where an operation has no row in the table, or a row no operation. */
export function checkPermissions(ids: readonly string[]): void {
  const without = ids.filter((id) => !(id in PERMISSIONS));
  if (without.length > 0) throw new Error(`no permission is written down for ${without.join(', ')}`);
  const unused = Object.keys(PERMISSIONS).filter((id) => !ids.includes(id));
  if (unused.length > 0) throw new Error(`permissions of no operation: ${unused.join(', ')}`);
}
