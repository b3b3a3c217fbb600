/**
 * The operations of the admin API: one row each with its method, path, permission and problems. The controllers, the
 * guard, the OpenAPI document, the panel and the commands read this table. The panel loads this file into browsers, so
 * it must not import anything but permissions. Response schemas stand beside the handlers for the same reason.
 */
import { MAKERS, MANAGERS, ROLES, type Permission } from '../../members/permissions.js';
import type { ErrorCode } from '../../platform/problems/errors.js';

/** The path before every operation's own. */
export const API_PREFIX = '/admin/v1';

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** Optional fields of a row, beyond its method, path, permission and summary. */
interface Options {
  /** The status of a success. Default: 200. A `post` with 201 takes an `Idempotency-Key`. */
  readonly status?: number;
  /** Whether the resource has a version: it is shown with an `ETag`, or changed with `If-Match`. */
  readonly version?: 'shown' | 'changed';
  /** Whether the response has `Location`, the path of what was created. */
  readonly location?: boolean;
  /** Whether the response is also available as CSV. */
  readonly csv?: boolean;
  /** Whether a method other than `get` only reads: a suspended account permits it. */
  readonly reads?: boolean;
  /**
   * Problems beside those that follow from the row: `resource_not_found` where the path names something, those of a
   * body, a query, a version, a confirmation and an idempotency key.
   */
  readonly problems?: readonly ErrorCode[];
}

/** A row of the table. */
export interface OperationRow<Path extends string = string> extends Options {
  readonly method: Method;
  /** Below `API_PREFIX`, with parameters in braces: `/api-keys/{id}`. */
  readonly path: Path;
  readonly permission: Permission;
  /** A few words for the OpenAPI document. */
  readonly summary: string;
  readonly status: number;
}

const on =
  (method: Method) =>
  <const Path extends `/${string}`>(
    path: Path,
    permission: Permission,
    summary: string,
    options: Options = {},
  ): OperationRow<Path> => ({ status: 200, ...options, method, path, permission, summary });

const get = on('get');
const post = on('post');
const put = on('put');
const patch = on('patch');
const remove = on('delete');

/** Puts rows under a tag of the OpenAPI document. */
function tagged<const Rows extends Readonly<Record<string, OperationRow>>>(tag: string, rows: Rows) {
  const entries = Object.entries(rows).map(([id, row]) => [id, { ...row, tag }]);
  return Object.fromEntries(entries) as { readonly [Id in keyof Rows]: Rows[Id] & { readonly tag: string } };
}

const read = {
  about: 'account',
  roles: ROLES,
  tokens: 'any',
  portal: true,
  limitedPortal: 'yes',
  confirm: 'never',
} as const;
const readKeys = { ...read, limitedPortal: 'keys' } as const;
// Source addresses of requests are personal data.
const requests = { ...readKeys, roles: MANAGERS } as const;
const manage = { ...read, roles: MANAGERS, limitedPortal: 'keys' } as const;
const widen = { ...manage, confirm: 'when_widening' } as const;
const secret = { ...manage, confirm: 'always' } as const;
// Event payloads contain customer data.
const hooks = { ...manage, limitedPortal: 'no' } as const;
const readHooks = { ...hooks, roles: ROLES } as const;
const widenHooks = { ...hooks, confirm: 'when_widening' } as const;
const hookSecret = { ...hooks, confirm: 'always' } as const;
const people = {
  about: 'account',
  roles: MANAGERS,
  tokens: 'operator',
  portal: false,
  limitedPortal: 'no',
  confirm: 'always',
} as const;
const managePeople = { ...people, confirm: 'never' } as const;
// Only a person can decide, in the browser that the client sent to the panel.
const approve = { ...people, roles: MAKERS.oauth_grant, tokens: 'none' } as const;
const self = { ...people, about: 'oneself', roles: ROLES, tokens: 'none', confirm: 'never' } as const;
const factor = { ...self, confirm: 'always' } as const;
const everyone = { ...self, tokens: 'any', portal: true, limitedPortal: 'yes' } as const;
const open = { ...everyone, about: 'anybody' } as const;
const operate = { ...people, about: 'installation', roles: [], confirm: 'never' } as const;
const give = { ...operate, confirm: 'always' } as const;

/** The table. Its order is that of the OpenAPI document. */
export const OPERATIONS = {
  ...tagged('Accounts', {
    // Lists only accounts that the caller can access.
    listAccounts: get('/accounts', everyone, 'List the accounts that the caller may see'),
    // Plan, status, time zone and billing day affect the bill.
    createAccount: post('/accounts', operate, 'Create an account', {
      status: 201,
      location: true,
      problems: ['conflict'],
    }),
    getAccount: get('/accounts/{id}', read, 'Read an account', { version: 'shown' }),
    updateAccount: patch(
      '/accounts/{id}',
      { ...operate, confirm: 'when_widening' },
      'Change an account: its plan, time zone, billing day, status or name',
      { version: 'changed', problems: ['conflict'] },
    ),
  }),
  ...tagged('API keys', {
    listApiKeys: get(
      '/accounts/{id}/api-keys',
      readKeys,
      'List, search and sort the API keys of an account, the revoked ones too',
    ),
    createApiKey: post('/accounts/{id}/api-keys', secret, 'Create an API key; the answer shows its secret, once', {
      status: 201,
      location: true,
      problems: ['conflict'],
    }),
    getApiKey: get('/api-keys/{id}', readKeys, 'Read an API key', { version: 'shown' }),
    getApiKeyImpact: get(
      '/api-keys/{id}/impact',
      readKeys,
      'Say what changing or revoking an API key would touch: its calls, its secrets, its scopes',
    ),
    updateApiKey: patch('/api-keys/{id}', widen, 'Change an API key: its name, scopes, addresses or expiry', {
      version: 'changed',
      problems: ['conflict'],
    }),
    // Revoking must be quick, so it needs no confirmation.
    revokeApiKey: remove('/api-keys/{id}', manage, 'Revoke an API key, for good; repeating it changes nothing', {
      version: 'changed',
    }),
    pauseApiKey: post(
      '/api-keys/{id}/pause',
      manage,
      'Pause an API key: refused with 403 until it goes on; repeating it changes nothing',
      { version: 'changed', problems: ['conflict'] },
    ),
    resumeApiKey: post(
      '/api-keys/{id}/resume',
      widen,
      'Let a paused API key go on as it is; repeating it changes nothing',
      { version: 'changed', problems: ['conflict'] },
    ),
    rotateApiKey: post(
      '/api-keys/{id}/rotate',
      secret,
      'Give an API key a new secret; the current one works until the overlap ends',
      { status: 201, location: true, version: 'changed', problems: ['conflict', 'previous_secret_active'] },
    ),
    endPreviousApiKeySecret: post(
      '/api-keys/{id}/end-previous-secret',
      manage,
      'End the previous secret of a rotation at once; repeating it changes nothing',
      { version: 'changed' },
    ),
  }),
  ...tagged('Usage', {
    getUsage: get('/accounts/{id}/usage', readKeys, 'Read limits and usage of an account, or of one of its keys', {
      csv: true,
      problems: ['quota_unavailable', 'invalid_cursor'],
    }),
  }),
  ...tagged('Requests', {
    listRequests: get(
      '/accounts/{id}/requests',
      requests,
      'List the requests of an account, newest first; or follow them',
    ),
    getRequest: get(
      '/accounts/{id}/requests/{request_id}',
      requests,
      'Read a request by its X-Request-Id, with what the gateway would say to it now',
    ),
  }),
  ...tagged('Explain', {
    explain: post(
      '/explain',
      readKeys,
      'Say which limits apply to a key and a request, and what it would be answered now; counts nothing',
      { reads: true, problems: ['resource_not_found'] },
    ),
  }),
  ...tagged('Quota adjustments', {
    listQuotaAdjustments: get(
      '/accounts/{id}/quota-adjustments',
      readKeys,
      'List the quota adjustments of an account, newest first',
    ),
    createQuotaAdjustment: post(
      '/accounts/{id}/quota-adjustments',
      give,
      'Raise a month limit until the month ends, or set or reset what is used',
      { status: 201, problems: ['conflict', 'quota_unavailable'] },
    ),
  }),
  ...tagged('Import and export', {
    importRecords: post('/imports', give, 'Import accounts, keys and other records; repeating it changes nothing', {
      problems: ['quota_unavailable'],
    }),
    exportRecords: get('/export', operate, 'Export accounts, keys and other records, without secrets', {
      problems: ['invalid_cursor'],
    }),
  }),
  ...tagged('Scopes', {
    listScopes: get('/scopes', everyone, 'List the scopes that the caller may give a key'),
  }),
  ...tagged('Plans', {
    listPlans: get('/plans', everyone, 'List the plans and their limits'),
  }),
  ...tagged('Operations', {
    listOperations: get('/operations', everyone, 'List the operations of the public API'),
  }),
  ...tagged('Mcp tools', {
    listMcpTools: get(
      '/accounts/{id}/mcp-tools',
      read,
      'List the tools that AI assistants see, by what their key may do',
    ),
  }),
  ...tagged('Targets', {
    listTargets: get(
      '/targets',
      operate,
      'List the targets of the services with their state, as every gateway sees them',
    ),
  }),
  ...tagged('Health', {
    getHealth: get('/health', operate, 'Say how the installation is: stores, counters, gateways and their versions'),
  }),
  ...tagged('Deprecated calls', {
    getDeprecatedCalls: get(
      '/deprecated-calls',
      operate,
      'Say which accounts have called deprecated operations in the last seven days',
    ),
  }),
  ...tagged('Quota adjustments', {
    listAllQuotaAdjustments: get(
      '/quota-adjustments',
      operate,
      'List the quota adjustments of all accounts, newest first',
    ),
  }),
  ...tagged('Audit log', {
    listAuditLog: get(
      '/audit-log',
      { ...read, roles: MANAGERS, portal: false, limitedPortal: 'no' },
      'List the changes, newest first',
    ),
  }),
  ...tagged('Sign in', {
    getSignInWays: get('/sign-in', open, 'Say how one can sign in here'),
    signInWithPassword: post('/sign-in/password', open, 'Sign in with e-mail address and password', {
      problems: ['cross_site_request', 'forbidden', 'sign_in_busy'],
    }),
  }),
  ...tagged('Sign out', {
    signOut: post('/sign-out', { ...self, portal: true, limitedPortal: 'yes' }, 'End the session of this browser', {
      status: 204,
    }),
  }),
  ...tagged('Second factor', {
    signInWithSecondFactor: post(
      '/sign-in/second-factor',
      open,
      'End a sign-in with a code of an authenticator app, or a recovery code',
      { problems: ['cross_site_request', 'sign_in_ended'] },
    ),
  }),
  ...tagged('Passkey', {
    beginPasskeySignIn: post(
      '/sign-in/passkey/options',
      open,
      'Begin a sign-in with a passkey: what a browser shows one by',
      { problems: ['cross_site_request', 'forbidden'] },
    ),
    signInWithPasskey: post('/sign-in/passkey', open, 'Sign in with a passkey', {
      problems: ['cross_site_request', 'forbidden', 'sign_in_ended'],
    }),
    beginPasskeyConfirmation: post(
      '/confirmations/passkey/options',
      self,
      'Begin to show with a passkey that it is you',
      { problems: ['conflict'] },
    ),
  }),
  ...tagged('Passkeys', {
    listMyPasskeys: get('/me/passkeys', self, 'List the passkeys of who is signed in'),
    beginPasskey: post('/me/passkeys/options', factor, 'Begin a passkey: what a browser makes it by', {
      problems: ['conflict'],
    }),
    addPasskey: post('/me/passkeys', factor, 'Keep a passkey that the browser has made', {
      status: 201,
      problems: ['sign_in_ended'],
    }),
    renamePasskey: patch('/me/passkeys/{id}', self, 'Name a passkey anew'),
    deletePasskey: remove('/me/passkeys/{id}', factor, 'Remove a passkey: it signs nobody in any more', {
      status: 204,
      problems: ['last_way_to_sign_in'],
    }),
  }),
  ...tagged('Me', {
    getMySecondFactor: get(
      '/me/second-factor',
      self,
      'Say whether an authenticator app is set up, and how many recovery codes are left',
    ),
    beginTotp: post(
      '/me/totp',
      factor,
      'Begin to set up an authenticator app; it counts once a code of it was confirmed',
      { problems: ['conflict'] },
    ),
    confirmTotp: post(
      '/me/totp/confirm',
      factor,
      'End the set-up of an authenticator app with a code of it; the response shows recovery codes, once',
      { problems: ['conflict'] },
    ),
    deleteTotp: remove(
      '/me/totp',
      factor,
      'Remove the authenticator app with its recovery codes; repeating it changes nothing',
      { status: 204 },
    ),
    createRecoveryCodes: post(
      '/me/recovery-codes',
      factor,
      'Put new recovery codes in the place of the old ones; the response shows them, once',
      { problems: ['conflict'] },
    ),
  }),
  ...tagged('Links', {
    readLink: post('/links/read', open, 'Say what a link is for, without using it up', {
      problems: ['cross_site_request', 'link_ended'],
    }),
    takeLink: post('/links/take', open, 'Use a link up: join, choose a password, and be signed in', {
      problems: ['cross_site_request', 'forbidden', 'link_ended', 'already_a_member', 'sign_in_busy', 'session_ended'],
    }),
  }),
  ...tagged('Me', {
    getMe: get('/me', everyone, 'Say who is signed in, and which accounts are theirs'),
    updateMe: patch('/me', self, 'Change the name or language of who is signed in'),
  }),
  ...tagged('Confirmations', {
    confirm: post(
      '/confirmations',
      self,
      'Confirm that it is you: with a passkey, or with the password and, where there is an app, its code',
      { problems: ['sign_in_busy', 'session_ended', 'sign_in_ended'] },
    ),
  }),
  ...tagged('Password', {
    changePassword: put(
      '/me/password',
      factor,
      'Choose a new password; all sessions end, and this browser has a new one',
      { status: 204, problems: ['sign_in_busy'] },
    ),
  }),
  ...tagged('Sessions', {
    listMySessions: get('/me/sessions', self, 'List where the caller is signed in, the session last seen first'),
    endMyOtherSessions: remove('/me/sessions', self, 'End all sessions of the caller but this one', { status: 204 }),
  }),
  ...tagged('Members', {
    listMembers: get('/members', operate, 'List everybody who can sign in'),
    createMember: post(
      '/members',
      give,
      'Add somebody, an operator or not; the response has the link for their password, once',
      { status: 201, location: true, problems: ['already_a_member'] },
    ),
    getMember: get('/members/{id}', operate, 'Read a member', { version: 'shown' }),
    updateMember: patch(
      '/members/{id}',
      { ...operate, confirm: 'when_widening' },
      'Change a member: name, whether they are an operator, whether they can sign in',
      { version: 'changed' },
    ),
    createPasswordResetLink: post(
      '/members/{id}/password-reset-links',
      { ...give, roles: MAKERS.password_link },
      'Make a link by which a member chooses a new password; the ones before end',
      { status: 201 },
    ),
    listMemberSessions: get('/members/{id}/sessions', operate, 'List where a member is signed in'),
    endMemberSessions: remove('/members/{id}/sessions', operate, 'Sign a member out everywhere', { status: 204 }),
    removeSecondFactor: remove(
      '/members/{id}/second-factor',
      give,
      "Remove a member's authenticator app and recovery codes, which they have lost; repeating it changes nothing",
      { status: 204 },
    ),
    forgetMember: remove(
      '/members/{id}',
      give,
      'Forget a person for good: name, address and all that signs them in; the audit log keeps the id alone',
      { problems: ['last_owner'] },
    ),
  }),
  ...tagged('Accounts', {
    leaveAccount: remove(
      '/me/accounts/{id}',
      self,
      'Leave an account; only an invitation leads back. The response lists the credentials that end with it',
      { problems: ['last_owner'] },
    ),
  }),
  ...tagged('Address verification', {
    requestAddressVerification: post(
      '/me/address-verification',
      self,
      'Mail a link that verifies the address of who is signed in; the link before ends',
      { status: 202, problems: ['conflict'] },
    ),
  }),
  ...tagged('Portal sessions', {
    createPortalSession: post(
      '/portal-sessions',
      { ...give, roles: MAKERS.portal_session },
      'Make a link into the panel for somebody who is signed in elsewhere; a session of an hour comes of it',
      { status: 201, problems: ['resource_not_found'] },
    ),
    endPortalSessions: remove(
      '/accounts/{id}/portal-sessions',
      operate,
      'End all portal sessions of an account, and the links that were not used',
      { status: 204 },
    ),
  }),
  ...tagged('Password resets', {
    requestPasswordReset: post(
      '/password-resets',
      open,
      'Ask for a link by mail to choose a new password; says the same whether there is a member or not',
      { status: 202, problems: ['cross_site_request'] },
    ),
  }),
  ...tagged('Sessions', {
    endSession: remove(
      '/sessions/{id}',
      self,
      'End a session of the caller; it is over with its next request, on every node',
      { status: 204 },
    ),
  }),
  ...tagged('Members', {
    listAccountMembers: get(
      '/accounts/{id}/members',
      { ...people, roles: ROLES, confirm: 'never' },
      'List the members of an account',
    ),
    updateAccountMember: patch(
      '/accounts/{id}/members/{member_id}',
      { ...people, confirm: 'when_widening' },
      'Give a member of an account another role; it counts with their next request',
      { version: 'changed', problems: ['last_owner'] },
    ),
    getAccountMemberImpact: get(
      '/accounts/{id}/members/{member_id}/impact',
      managePeople,
      'Read what ends and what stays if a member is removed from an account',
    ),
    removeAccountMember: remove(
      '/accounts/{id}/members/{member_id}',
      managePeople,
      'Remove a member from an account; the response lists the credentials that end with it',
      { version: 'changed', problems: ['last_owner'] },
    ),
  }),
  ...tagged('Invitations', {
    listInvitations: get(
      '/accounts/{id}/invitations',
      managePeople,
      'List the invitations of an account, newest first, those that are over too',
    ),
    createInvitation: post(
      '/accounts/{id}/invitations',
      { ...people, roles: MAKERS.invitation },
      'Invite somebody to an account; the response shows the link, once',
      { status: 201, problems: ['already_a_member'] },
    ),
    resendInvitation: post(
      '/invitations/{id}/resend',
      people,
      'Make a new link for who was invited; the old one ends',
      { status: 201, problems: ['conflict', 'already_a_member'] },
    ),
    revokeInvitation: remove(
      '/invitations/{id}',
      managePeople,
      'Take an invitation back; repeating it changes nothing',
      { problems: ['conflict'] },
    ),
  }),
  ...tagged('Tokens', {
    listAccountTokens: get(
      '/accounts/{id}/tokens',
      managePeople,
      'List the tokens of an account, the revoked and expired ones too',
    ),
    createAccountToken: post(
      '/accounts/{id}/tokens',
      { ...people, roles: MAKERS.account_token },
      'Create a token for programs of an account; the response shows its secret, once',
      { status: 201 },
    ),
    revokeAccountToken: remove(
      '/accounts/{id}/tokens/{token_id}',
      managePeople,
      'Revoke a token, for good; repeating it changes nothing',
    ),
  }),
  ...tagged('Providers', {
    beginProviderSignIn: post('/sign-in/providers/{provider}', open, 'Begin a sign-in at an identity provider', {
      problems: [
        'cross_site_request',
        'confirmation_required',
        'conflict',
        'link_ended',
        'identity_provider_unavailable',
      ],
    }),
    finishProviderSignIn: get(
      '/sign-in/providers/{provider}/callback',
      open,
      'Take back who comes from an identity provider; leads on to a page of the panel',
      { status: 303 },
    ),
  }),
  ...tagged('Identities', {
    listMyIdentities: get('/me/identities', self, 'List the identities at providers that sign in who is signed in'),
    deleteMyIdentity: remove('/me/identities/{id}', factor, 'Take an identity away: it signs nobody in any more', {
      status: 204,
      problems: ['last_way_to_sign_in'],
    }),
  }),
  ...tagged('Events', {
    listEvents: get('/accounts/{id}/events', hooks, 'List the events of an account, newest first'),
    getEvent: get('/events/{id}', hooks, 'Read an event'),
  }),
  ...tagged('Event types', {
    listEventTypes: get('/event-types', everyone, 'List the types of events that webhook endpoints can be told of'),
  }),
  ...tagged('Webhook endpoints', {
    listWebhookEndpoints: get(
      '/accounts/{id}/webhook-endpoints',
      readHooks,
      'List the webhook endpoints of an account',
    ),
    createWebhookEndpoint: post(
      '/accounts/{id}/webhook-endpoints',
      hookSecret,
      'Add a webhook endpoint; the response shows its secret, once',
      { status: 201, location: true, problems: ['too_many_endpoints', 'webhook_secret_in_use', 'secrets_unavailable'] },
    ),
    getWebhookEndpoint: get(
      '/webhook-endpoints/{id}',
      readHooks,
      'Read a webhook endpoint, and how many deliveries wait for it',
      { version: 'shown' },
    ),
    updateWebhookEndpoint: patch(
      '/webhook-endpoints/{id}',
      widenHooks,
      'Change a webhook endpoint, pause it or enable it; what waits goes to a new URL',
      { version: 'changed', problems: ['forbidden', 'conflict'] },
    ),
    deleteWebhookEndpoint: remove(
      '/webhook-endpoints/{id}',
      hooks,
      'Delete a webhook endpoint and its secrets; what waits for it is given up',
      { status: 204, version: 'changed' },
    ),
    rotateWebhookSecret: post(
      '/webhook-endpoints/{id}/rotate-secret',
      hookSecret,
      'Give a webhook endpoint a new secret; until the overlap ends everything is signed with both',
      {
        status: 201,
        location: true,
        version: 'changed',
        problems: ['previous_secret_active', 'webhook_secret_in_use', 'secrets_unavailable'],
      },
    ),
    endPreviousWebhookSecret: post(
      '/webhook-endpoints/{id}/end-previous-secret',
      hooks,
      'Sign with the current secret alone from now on; repeating it changes nothing',
      { version: 'changed' },
    ),
  }),
  ...tagged('Deliveries', {
    listWebhookDeliveries: get(
      '/webhook-endpoints/{id}/deliveries',
      hooks,
      'List the deliveries of a webhook endpoint, newest first',
    ),
  }),
  ...tagged('Webhook endpoints', {
    testWebhookEndpoint: post(
      '/webhook-endpoints/{id}/test',
      hooks,
      'Send a test to a webhook endpoint, paused or not, and say what came of it',
      { problems: ['secrets_unavailable', 'gateway_overloaded'] },
    ),
    replayWebhookDeliveries: post(
      '/webhook-endpoints/{id}/replay',
      widenHooks,
      'Attempt many deliveries of a webhook endpoint again: what has failed, or all of a time',
      { status: 202, problems: ['webhook_endpoint_disabled'] },
    ),
  }),
  ...tagged('Webhook deliveries', {
    getWebhookDelivery: get('/webhook-deliveries/{id}', hooks, 'Read a delivery with its attempts and what is sent'),
    retryWebhookDelivery: post(
      '/webhook-deliveries/{id}/retry',
      widenHooks,
      'Attempt a delivery again, now; its schedule begins anew',
      { status: 202, problems: ['conflict', 'webhook_endpoint_disabled'] },
    ),
  }),
  ...tagged('Authorization requests', {
    getAuthorizationRequest: get('/authorization-requests/{id}', self, 'Read what an OAuth client asks for'),
    denyAuthorizationRequest: post('/authorization-requests/{id}/denial', self, 'Turn an OAuth client away'),
  }),
  ...tagged('Approval', {
    approveAuthorizationRequest: post(
      '/authorization-requests/{id}/approval',
      approve,
      'Let an OAuth client in: it gets a key of the account, which can be revoked as any other',
    ),
  }),
  ...tagged('OpenAPI', {
    getOpenApiDocument: get('/openapi.json', everyone, 'Read this description'),
  }),
};

/** The id of an operation of the admin API. */
export type OperationId = keyof typeof OPERATIONS;

/** Reports whether an operation changes nothing. */
export function isRead({ method, reads = false }: Pick<OperationRow, 'method' | 'reads'>): boolean {
  return method === 'get' || reads;
}
