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
  /** Whether a program with a token of the account may, in its role. */
  readonly tokens: boolean;
  /** Whether a portal session may. */
  readonly portal: boolean;
  /** Asks again where the member has not shown in the last ten minutes that it is them. */
  readonly confirm: boolean;
}

const MANAGERS = ['owner', 'admin'] as const;

const read = { about: 'account', roles: ROLES, tokens: true, portal: true, confirm: false } as const;
const manage = { about: 'account', roles: MANAGERS, tokens: true, portal: true, confirm: false } as const;
const secret = { ...manage, confirm: true } as const;
const people = { about: 'account', roles: MANAGERS, tokens: false, portal: false, confirm: true } as const;
const self = { about: 'oneself', roles: ROLES, tokens: false, portal: false, confirm: false } as const;
const everyone = { ...self, tokens: true, portal: true } as const;
const open = { about: 'anybody', roles: ROLES, tokens: true, portal: true, confirm: false } as const;
const operate = { about: 'installation', roles: [], tokens: false, portal: false, confirm: false } as const;

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
  signOut: { ...self, portal: true },
  getMe: everyone,
  updateMe: self,
  confirm: self,
  changePassword: { ...self, confirm: true },
  listMySessions: self,
  endSession: self,
  endMyOtherSessions: self,
  leaveAccount: self,
  beginPasskeyConfirmation: self,
  listMyIdentities: self,
  deleteMyIdentity: { ...self, confirm: true },
  listMyPasskeys: self,
  beginPasskey: { ...self, confirm: true },
  addPasskey: { ...self, confirm: true },
  renamePasskey: self,
  deletePasskey: { ...self, confirm: true },
  getMySecondFactor: self,
  beginTotp: { ...self, confirm: true },
  confirmTotp: self,
  deleteTotp: { ...self, confirm: true },
  createRecoveryCodes: { ...self, confirm: true },

  getOpenApiDocument: everyone,
  listScopes: everyone,
  listPlans: everyone,
  listOperations: everyone,

  // Each sees what is theirs.
  listAccounts: everyone,
  getAccount: read,
  // Plan, status, zone and billing day are what is paid for.
  createAccount: operate,
  updateAccount: operate,

  listApiKeys: read,
  getApiKey: read,
  getApiKeyImpact: read,
  createApiKey: secret,
  rotateApiKey: secret,
  updateApiKey: manage,
  pauseApiKey: manage,
  resumeApiKey: manage,
  // Taking away must be quick.
  revokeApiKey: manage,

  // A person says so, to whom a browser was sent.
  getAuthorizationRequest: self,
  denyAuthorizationRequest: self,
  approveAuthorizationRequest: { ...secret, tokens: false, portal: false },

  getUsage: read,
  listQuotaAdjustments: read,
  createQuotaAdjustment: operate,
  // What events are about is the data of customers.
  listEvents: { ...read, roles: MANAGERS },
  getEvent: { ...read, roles: MANAGERS },
  listEventTypes: everyone,

  listWebhookEndpoints: read,
  getWebhookEndpoint: read,
  createWebhookEndpoint: secret,
  rotateWebhookSecret: secret,
  updateWebhookEndpoint: manage,
  deleteWebhookEndpoint: manage,
  testWebhookEndpoint: manage,
  replayWebhookDeliveries: manage,
  retryWebhookDelivery: manage,
  listWebhookDeliveries: { ...read, roles: MANAGERS },
  getWebhookDelivery: { ...read, roles: MANAGERS },

  explain: read,
  listMcpTools: read,
  // Where people were is not for everybody.
  listRequests: { ...read, roles: MANAGERS },
  getRequest: { ...read, roles: MANAGERS },
  listAuditLog: { ...read, roles: MANAGERS, portal: false },

  listAccountMembers: { ...read, tokens: false, portal: false },
  updateAccountMember: people,
  removeAccountMember: people,
  listInvitations: { ...people, confirm: false },
  createInvitation: people,
  resendInvitation: people,
  revokeInvitation: { ...people, confirm: false },

  listAccountTokens: { ...people, confirm: false },
  createAccountToken: people,
  revokeAccountToken: { ...people, confirm: false },

  createPortalSession: operate,
  endPortalSessions: operate,

  listMembers: operate,
  getMember: operate,
  createMember: { ...operate, confirm: true },
  updateMember: { ...operate, confirm: true },
  createPasswordResetLink: { ...operate, confirm: true },
  listMemberSessions: operate,
  endMemberSessions: operate,
  removeSecondFactor: { ...operate, confirm: true },
  forgetMember: { ...operate, confirm: true },

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
