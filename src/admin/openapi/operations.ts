/**
 * Defines the operations of the admin API for controllers, guards, the OpenAPI document, the panel and the commands.
 * The panel loads this file into browsers, so the file may import only types and permissions. For the same reason,
 * response schemas are in the files of the handlers.
 */
import { CREATOR_ROLES, MANAGERS, ROLES, type Permission } from '../../members/permissions.js';
import type { ErrorCode } from '../../platform/problems/errors.js';

/** Path prefix of all operations. */
export const API_PREFIX = '/admin/v1';

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** Options are the optional fields of a row. */
interface Options {
  /** Status of a success. The default is 200. A `post` with 201 accepts an `Idempotency-Key`. */
  readonly status?: number;
  /** For resources with a version. `shown`: the response has an `ETag`. `changed`: the request accepts `If-Match`. */
  readonly version?: 'shown' | 'changed';
  /** Whether the response has `Location`, the path of the created resource. */
  readonly location?: boolean;
  /** Whether the response is also available as CSV. */
  readonly csv?: boolean;
  /**
   * Whether the operation only reads, although its method is not `get`. Members of a suspended account can call
   * operations that only read.
   */
  readonly reads?: boolean;
  /**
   * Error codes that `openapi-document.ts` does not derive. The derived codes are the common ones, and
   * `resource_not_found` for a path with an ID. Bodies, queries, versions, confirmations and idempotency keys add
   * further codes.
   */
  readonly problems?: readonly ErrorCode[];
}

/** OperationRow is a row of the table of operations. */
export interface OperationRow<Path extends string = string> extends Options {
  readonly method: Method;
  /** Path after `API_PREFIX`, with parameters in braces, such as `/api-keys/{id}`. */
  readonly path: Path;
  readonly permission: Permission;
  /** Summary in the OpenAPI document. */
  readonly summary: string;
  readonly status: number;
}

/** Returns a function that creates rows with a method. */
const withMethod =
  (method: Method) =>
  <const Path extends `/${string}`>(
    path: Path,
    permission: Permission,
    summary: string,
    options: Options = {},
  ): OperationRow<Path> => ({ status: 200, ...options, method, path, permission, summary });

const get = withMethod('get');
const post = withMethod('post');
const put = withMethod('put');
const patch = withMethod('patch');
const remove = withMethod('delete');

/** Adds a tag of the OpenAPI document to rows. */
function withTag<const Rows extends Readonly<Record<string, OperationRow>>>(tag: string, rows: Rows) {
  const entries = Object.entries(rows).map(([id, row]) => [id, { ...row, tag }]);
  return Object.fromEntries(entries) as { readonly [Id in keyof Rows]: Rows[Id] & { readonly tag: string } };
}

// Permissions of the rows. `Permission` documents the fields. Operators have every role, but `tokens: none` excludes
// the operator token.

/** Reading data of an account, for every role, account token and portal session. */
const read = {
  about: 'account',
  roles: ROLES,
  tokens: 'any',
  portal: true,
  limitedPortal: 'yes',
  confirm: 'never',
} as const;
/** Reading data of keys. Portal sessions with limited scopes see only keys within their scopes. */
const readKeys = { ...read, limitedPortal: 'keys' } as const;
/** Reading logged requests. Only owners and admins, because source addresses are personal data. */
const requests = { ...readKeys, roles: MANAGERS } as const;
/** Changes to keys that cannot widen access. Owners and admins, without confirmation. */
const manage = { ...read, roles: MANAGERS, limitedPortal: 'keys' } as const;
/** Changes to keys, with a confirmation if the change widens access. */
const widen = { ...manage, confirm: 'when_widening' } as const;
/** Creating secrets of keys, which always needs a confirmation. */
const secret = { ...manage, confirm: 'always' } as const;
/** Events and webhooks. Not for portal sessions with limited scopes, because event payloads contain customer data. */
const hooks = { ...manage, limitedPortal: 'no' } as const;
const readHooks = { ...hooks, roles: ROLES } as const;
const widenHooks = { ...hooks, confirm: 'when_widening' } as const;
const hookSecret = { ...hooks, confirm: 'always' } as const;
/**
 * Granting access to people and programs. Signed-in owners and admins, and operators, with a confirmation. No account
 * tokens or portal sessions.
 */
const people = {
  about: 'account',
  roles: MANAGERS,
  tokens: 'operator',
  portal: false,
  limitedPortal: 'no',
  confirm: 'always',
} as const;
/** Reading or revoking the access of people and programs, without confirmation. */
const managePeople = { ...people, confirm: 'never' } as const;
/**
 * Approving an OAuth client. Not with a token, because the approval continues at the authorization server in the
 * browser of the member.
 */
const approve = { ...people, roles: CREATOR_ROLES.oauth_grant, tokens: 'none' } as const;
/** A signed-in member's own profile and sessions. */
const self = { ...people, about: 'oneself', roles: ROLES, tokens: 'none', confirm: 'never' } as const;
/** A signed-in member's own sign-in methods. Changes always need a confirmation. */
const factor = { ...self, confirm: 'always' } as const;
/** Every authenticated caller. */
const everyone = { ...self, tokens: 'any', portal: true, limitedPortal: 'yes' } as const;
/** Everyone, also without sign-in. */
const open = { ...everyone, about: 'anybody' } as const;
/** Operators only, without confirmation. */
const operate = { ...people, about: 'installation', roles: [], confirm: 'never' } as const;
/** Operators only, with a confirmation. */
const give = { ...operate, confirm: 'always' } as const;

/** Rows of the table, by operation ID. The OpenAPI document has the same order. */
export const OPERATIONS = {
  ...withTag('Accounts', {
    // For every caller, because the list contains only accounts that the caller can access.
    listAccounts: get('/accounts', everyone, 'List accessible accounts'),
    // For operators only, because plan, status, time zone and billing day affect the bill.
    createAccount: post('/accounts', operate, 'Create an account', {
      status: 201,
      location: true,
      problems: ['conflict'],
    }),
    getAccount: get('/accounts/{id}', read, 'Read an account', { version: 'shown' }),
    updateAccount: patch(
      '/accounts/{id}',
      { ...operate, confirm: 'when_widening' },
      'Update the plan, time zone, billing day, status or name of an account',
      { version: 'changed', problems: ['conflict'] },
    ),
    deleteAccount: remove('/accounts/{id}', give, 'Delete an account with its keys, members and data, for good', {
      status: 204,
      problems: ['conflict'],
    }),
  }),
  ...withTag('API keys', {
    listApiKeys: get(
      '/accounts/{id}/api-keys',
      readKeys,
      'List, search and sort the API keys of an account, including revoked ones',
    ),
    createApiKey: post('/accounts/{id}/api-keys', secret, 'Create an API key; the response shows its secret once', {
      status: 201,
      location: true,
      problems: ['conflict'],
    }),
    getApiKey: get('/api-keys/{id}', readKeys, 'Get an API key', { version: 'shown' }),
    getApiKeyImpact: get('/api-keys/{id}/impact', readKeys, 'Show what changing or revoking an API key would affect'),
    updateApiKey: patch(
      '/api-keys/{id}',
      widen,
      'Update the name, scopes, IP restrictions or expiration of an API key',
      {
        version: 'changed',
        problems: ['conflict'],
      },
    ),
    // Revoking a key must be quick, so revoking needs no confirmation.
    revokeApiKey: remove('/api-keys/{id}', manage, 'Revoke an API key permanently; idempotent', {
      version: 'changed',
    }),
    pauseApiKey: post(
      '/api-keys/{id}/pause',
      manage,
      'Pause an API key: requests get 403 until it is resumed; idempotent',
      { version: 'changed', problems: ['conflict'] },
    ),
    resumeApiKey: post('/api-keys/{id}/resume', widen, 'Resume a paused API key; idempotent', {
      version: 'changed',
      problems: ['conflict'],
    }),
    rotateApiKey: post(
      '/api-keys/{id}/rotate',
      secret,
      'Rotate an API key; the current secret works until the overlap ends',
      { status: 201, location: true, version: 'changed', problems: ['conflict', 'previous_secret_active'] },
    ),
    endPreviousApiKeySecret: post(
      '/api-keys/{id}/end-previous-secret',
      manage,
      'End the previous secret of a rotation immediately; idempotent',
      { version: 'changed' },
    ),
  }),
  ...withTag('Usage', {
    getUsage: get('/accounts/{id}/usage', readKeys, 'Get limits and usage of an account or one of its keys', {
      csv: true,
      problems: ['quota_unavailable', 'invalid_cursor'],
    }),
  }),
  ...withTag('Requests', {
    listRequests: get(
      '/accounts/{id}/requests',
      requests,
      'List the requests of an account, newest first, or follow new ones',
    ),
    getRequest: get(
      '/accounts/{id}/requests/{request_id}',
      requests,
      'Get a request by its X-Request-Id, with the result it would have now',
    ),
  }),
  ...withTag('Explain', {
    explain: post(
      '/explain',
      readKeys,
      'Explain which limits apply to a request and whether it is allowed; counts nothing',
      { reads: true, problems: ['resource_not_found'] },
    ),
  }),
  ...withTag('Quota adjustments', {
    listQuotaAdjustments: get(
      '/accounts/{id}/quota-adjustments',
      readKeys,
      'List the quota adjustments of an account, newest first',
    ),
    createQuotaAdjustment: post(
      '/accounts/{id}/quota-adjustments',
      give,
      'Raise a monthly limit until the month ends, or set or reset its usage',
      { status: 201, problems: ['conflict', 'quota_unavailable'] },
    ),
  }),
  ...withTag('Import and export', {
    importRecords: post('/imports', give, 'Import accounts, keys and other records; repeating it changes nothing', {
      problems: ['quota_unavailable'],
    }),
    exportRecords: get('/export', give, 'Export accounts, keys and other records, without secrets', {
      problems: ['invalid_cursor'],
    }),
  }),
  ...withTag('Scopes', {
    listScopes: get('/scopes', everyone, 'List the scopes that the caller can give a key'),
  }),
  ...withTag('Plans', {
    listPlans: get('/plans', everyone, 'List the plans and their limits'),
  }),
  ...withTag('Operations', {
    listOperations: get('/operations', everyone, 'List the operations of the public API'),
  }),
  ...withTag('MCP tools', {
    listMcpTools: get(
      '/accounts/{id}/mcp-tools',
      read,
      'List the tools that AI assistants can call, by the scopes of a key',
    ),
  }),
  ...withTag('Targets', {
    listTargets: get('/targets', operate, 'List backend targets with their state on every gateway'),
  }),
  ...withTag('Health', {
    getHealth: get('/health', operate, 'Get the health of the installation: stores, counters, gateways and versions'),
  }),
  ...withTag('Deprecated calls', {
    getDeprecatedCalls: get(
      '/deprecated-calls',
      operate,
      'List accounts that called deprecated operations in the last seven days',
    ),
  }),
  ...withTag('Quota adjustments', {
    listAllQuotaAdjustments: get(
      '/quota-adjustments',
      operate,
      'List the quota adjustments of all accounts, newest first',
    ),
  }),
  ...withTag('Audit log', {
    listAuditLog: get(
      '/audit-log',
      { ...read, roles: MANAGERS, portal: false, limitedPortal: 'no' },
      'List changes, newest first',
    ),
  }),
  ...withTag('Sign in', {
    getSignInWays: get('/sign-in', open, 'Get the available sign-in methods'),
    signInWithPassword: post('/sign-in/password', open, 'Sign in with email and password', {
      problems: ['cross_site_request', 'forbidden', 'sign_in_busy'],
    }),
  }),
  ...withTag('Sign out', {
    signOut: post('/sign-out', { ...self, portal: true, limitedPortal: 'yes' }, 'End the session of this browser', {
      status: 204,
    }),
  }),
  ...withTag('Second factor', {
    signInWithSecondFactor: post(
      '/sign-in/second-factor',
      open,
      'Complete a sign-in with a code of the authenticator app or a recovery code',
      { problems: ['cross_site_request', 'forbidden', 'sign_in_ended'] },
    ),
  }),
  ...withTag('Passkey', {
    beginPasskeySignIn: post(
      '/sign-in/passkey/options',
      open,
      'Start a sign-in with a passkey; returns WebAuthn options',
      { problems: ['cross_site_request', 'forbidden'] },
    ),
    signInWithPasskey: post('/sign-in/passkey', open, 'Sign in with a passkey', {
      problems: ['cross_site_request', 'forbidden', 'sign_in_ended'],
    }),
    beginPasskeyConfirmation: post(
      '/confirmations/passkey/options',
      self,
      'Start a confirmation with a passkey; returns WebAuthn options',
      { problems: ['conflict'] },
    ),
  }),
  ...withTag('Passkeys', {
    listMyPasskeys: get('/me/passkeys', self, 'List your passkeys'),
    beginPasskey: post(
      '/me/passkeys/options',
      factor,
      'Start the registration of a passkey; returns WebAuthn options',
      {
        problems: ['conflict'],
      },
    ),
    addPasskey: post('/me/passkeys', factor, 'Register a passkey', {
      status: 201,
      problems: ['sign_in_ended'],
    }),
    renamePasskey: patch('/me/passkeys/{id}', self, 'Rename a passkey'),
    deletePasskey: remove('/me/passkeys/{id}', factor, 'Remove a passkey', {
      status: 204,
      problems: ['last_way_to_sign_in'],
    }),
  }),
  ...withTag('Me', {
    getMySecondFactor: get(
      '/me/second-factor',
      self,
      'Get the state of your authenticator app and the number of unused recovery codes',
    ),
    beginTotp: post(
      '/me/totp',
      factor,
      'Start the setup of an authenticator app; it is active once a code is confirmed',
      { problems: ['conflict'] },
    ),
    confirmTotp: post(
      '/me/totp/confirm',
      factor,
      'Complete the setup of an authenticator app; the response shows recovery codes once',
      { problems: ['conflict'] },
    ),
    deleteTotp: remove('/me/totp', factor, 'Remove the authenticator app and its recovery codes; idempotent', {
      status: 204,
    }),
    createRecoveryCodes: post(
      '/me/recovery-codes',
      factor,
      'Replace your recovery codes; the response shows the new ones once',
      { problems: ['conflict'] },
    ),
  }),
  ...withTag('Links', {
    readLink: post('/links/read', open, 'Get the purpose of a single-use link, without using it', {
      problems: ['cross_site_request', 'link_ended'],
    }),
    takeLink: post('/links/take', open, 'Use a single-use link: join, set a password, and sign in', {
      problems: ['cross_site_request', 'forbidden', 'link_ended', 'already_a_member', 'sign_in_busy', 'session_ended'],
    }),
  }),
  ...withTag('Me', {
    getMe: get('/me', everyone, 'Get the signed-in user and their accounts'),
    updateMe: patch('/me', self, 'Update your name or language'),
  }),
  ...withTag('Confirmations', {
    confirm: post(
      '/confirmations',
      self,
      'Confirm your identity with a passkey, or with the password and a code if an app is set up',
      { problems: ['sign_in_busy', 'session_ended', 'sign_in_ended'] },
    ),
  }),
  ...withTag('Password', {
    changePassword: put(
      '/me/password',
      factor,
      'Set a new password; all sessions end, and this browser gets a new one',
      { status: 204, problems: ['sign_in_busy'] },
    ),
  }),
  ...withTag('Sessions', {
    listMySessions: get('/me/sessions', self, 'List your sessions, last used first'),
    endMyOtherSessions: remove('/me/sessions', self, 'End all your sessions except this one', { status: 204 }),
  }),
  ...withTag('Members', {
    listMembers: get('/members', operate, 'List all members of the installation'),
    createMember: post('/members', give, 'Create a member; the response has the link for their password once', {
      status: 201,
      location: true,
      problems: ['already_a_member'],
    }),
    getMember: get('/members/{id}', operate, 'Get a member', { version: 'shown' }),
    updateMember: patch(
      '/members/{id}',
      { ...operate, confirm: 'when_widening' },
      "Update a member's name, operator role or ability to sign in",
      { version: 'changed' },
    ),
    createPasswordResetLink: post(
      '/members/{id}/password-reset-links',
      { ...give, roles: CREATOR_ROLES.password_link },
      'Create a password reset link for a member; earlier links expire',
      { status: 201 },
    ),
    listMemberSessions: get('/members/{id}/sessions', operate, 'List the sessions of a member'),
    endMemberSessions: remove('/members/{id}/sessions', operate, 'End all sessions of a member', { status: 204 }),
    removeSecondFactor: remove(
      '/members/{id}/second-factor',
      give,
      "Remove a member's authenticator app and recovery codes after they lost them; idempotent",
      { status: 204 },
    ),
    forgetMember: remove(
      '/members/{id}',
      give,
      'Erase a member permanently: name, address and credentials; the audit log keeps only the id',
      { problems: ['last_owner'] },
    ),
  }),
  ...withTag('Accounts', {
    leaveAccount: remove('/me/accounts/{id}', self, 'Leave an account; the response lists the credentials that end', {
      problems: ['last_owner'],
    }),
  }),
  ...withTag('Address verification', {
    requestAddressVerification: post(
      '/me/address-verification',
      self,
      'Email a link that verifies your address; earlier links expire',
      { status: 202, problems: ['conflict'] },
    ),
  }),
  ...withTag('Portal sessions', {
    createPortalSession: post(
      '/portal-sessions',
      { ...give, roles: CREATOR_ROLES.portal_session },
      'Create a portal link for a user of another site; it opens a session of one hour',
      { status: 201, problems: ['resource_not_found'] },
    ),
    endPortalSessions: remove(
      '/accounts/{id}/portal-sessions',
      operate,
      'End all portal sessions and unused portal links of an account',
      { status: 204 },
    ),
  }),
  ...withTag('Password resets', {
    requestPasswordReset: post(
      '/password-resets',
      open,
      'Request a password reset by email; the response is the same for unknown addresses',
      { status: 202, problems: ['cross_site_request'] },
    ),
  }),
  ...withTag('Sessions', {
    endSession: remove(
      '/sessions/{id}',
      self,
      'End one of your sessions; takes effect with its next request on every node',
      { status: 204 },
    ),
  }),
  ...withTag('Members', {
    listAccountMembers: get(
      '/accounts/{id}/members',
      { ...people, roles: ROLES, confirm: 'never' },
      'List the members of an account',
    ),
    updateAccountMember: patch(
      '/accounts/{id}/members/{member_id}',
      { ...people, confirm: 'when_widening' },
      'Change the role of a member; takes effect with their next request',
      { version: 'changed', problems: ['last_owner'] },
    ),
    getAccountMemberImpact: get(
      '/accounts/{id}/members/{member_id}/impact',
      managePeople,
      'Show what ends and what stays if a member is removed from an account',
    ),
    removeAccountMember: remove(
      '/accounts/{id}/members/{member_id}',
      managePeople,
      'Remove a member from an account; the response lists the credentials that end',
      { version: 'changed', problems: ['last_owner'] },
    ),
  }),
  ...withTag('Invitations', {
    listInvitations: get(
      '/accounts/{id}/invitations',
      managePeople,
      'List the invitations of an account, newest first, including closed ones',
    ),
    createInvitation: post(
      '/accounts/{id}/invitations',
      { ...people, roles: CREATOR_ROLES.invitation },
      'Invite someone to an account; the response shows the link once',
      { status: 201, problems: ['already_a_member'] },
    ),
    resendInvitation: post(
      '/invitations/{id}/resend',
      people,
      'Create a new link for an invitation; the previous link expires',
      { status: 201, problems: ['conflict', 'already_a_member'] },
    ),
    revokeInvitation: remove('/invitations/{id}', managePeople, 'Revoke an invitation; idempotent', {
      problems: ['conflict'],
    }),
  }),
  ...withTag('Tokens', {
    listAccountTokens: get(
      '/accounts/{id}/tokens',
      managePeople,
      'List the tokens of an account, including revoked and expired ones',
    ),
    createAccountToken: post(
      '/accounts/{id}/tokens',
      { ...people, roles: CREATOR_ROLES.account_token },
      'Create an account token; the response shows its secret once',
      { status: 201 },
    ),
    revokeAccountToken: remove(
      '/accounts/{id}/tokens/{token_id}',
      managePeople,
      'Revoke a token permanently; idempotent',
    ),
  }),
  ...withTag('Providers', {
    beginProviderSignIn: post('/sign-in/providers/{provider}', open, 'Start a sign-in at an identity provider', {
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
      'Complete a sign-in at an identity provider; redirects to the panel',
      { status: 303 },
    ),
  }),
  ...withTag('Identities', {
    listMyIdentities: get('/me/identities', self, 'List your linked identities'),
    deleteMyIdentity: remove('/me/identities/{id}', factor, 'Unlink an identity', {
      status: 204,
      problems: ['last_way_to_sign_in'],
    }),
  }),
  ...withTag('Events', {
    listEvents: get('/accounts/{id}/events', hooks, 'List the events of an account, newest first'),
    getEvent: get('/events/{id}', hooks, 'Get an event'),
  }),
  ...withTag('Event types', {
    listEventTypes: get('/event-types', everyone, 'List event types that webhook endpoints can subscribe to'),
  }),
  ...withTag('Webhook endpoints', {
    listWebhookEndpoints: get(
      '/accounts/{id}/webhook-endpoints',
      readHooks,
      'List the webhook endpoints of an account',
    ),
    createWebhookEndpoint: post(
      '/accounts/{id}/webhook-endpoints',
      hookSecret,
      'Create a webhook endpoint; the response shows its secret once',
      { status: 201, location: true, problems: ['too_many_endpoints', 'webhook_secret_in_use', 'secrets_unavailable'] },
    ),
    getWebhookEndpoint: get(
      '/webhook-endpoints/{id}',
      readHooks,
      'Get a webhook endpoint with its number of pending deliveries',
      { version: 'shown' },
    ),
    updateWebhookEndpoint: patch(
      '/webhook-endpoints/{id}',
      widenHooks,
      'Update, pause or enable a webhook endpoint; pending deliveries use a new URL',
      { version: 'changed', problems: ['forbidden', 'conflict'] },
    ),
    deleteWebhookEndpoint: remove(
      '/webhook-endpoints/{id}',
      hooks,
      'Delete a webhook endpoint, its secrets and its pending deliveries',
      { status: 204, version: 'changed' },
    ),
    rotateWebhookSecret: post(
      '/webhook-endpoints/{id}/rotate-secret',
      hookSecret,
      'Rotate the signing secret; events are signed with both secrets until the overlap ends',
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
      'End previous signing secrets immediately; idempotent',
      { version: 'changed' },
    ),
  }),
  ...withTag('Deliveries', {
    listWebhookDeliveries: get(
      '/webhook-endpoints/{id}/deliveries',
      hooks,
      'List the deliveries of a webhook endpoint, newest first',
    ),
  }),
  ...withTag('Webhook endpoints', {
    testWebhookEndpoint: post(
      '/webhook-endpoints/{id}/test',
      hooks,
      'Send a test event to a webhook endpoint, even if paused, and return the result',
      { problems: ['secrets_unavailable', 'gateway_overloaded'] },
    ),
    replayWebhookDeliveries: post(
      '/webhook-endpoints/{id}/replay',
      widenHooks,
      'Resend deliveries of a webhook endpoint: the failed ones, or all in a period',
      { status: 202, problems: ['webhook_endpoint_disabled'] },
    ),
  }),
  ...withTag('Webhook deliveries', {
    getWebhookDelivery: get('/webhook-deliveries/{id}', hooks, 'Get a delivery with its attempts and payload'),
    retryWebhookDelivery: post(
      '/webhook-deliveries/{id}/retry',
      widenHooks,
      'Resend a delivery now; its retry schedule starts over',
      { status: 202, problems: ['conflict', 'webhook_endpoint_disabled'] },
    ),
  }),
  ...withTag('Authorization requests', {
    getAuthorizationRequest: get(
      '/authorization-requests/{id}',
      self,
      'Get the authorization request of an OAuth client',
    ),
    denyAuthorizationRequest: post(
      '/authorization-requests/{id}/denial',
      self,
      'Deny the authorization request of an OAuth client',
    ),
  }),
  ...withTag('Approval', {
    approveAuthorizationRequest: post(
      '/authorization-requests/{id}/approval',
      approve,
      'Authorize an OAuth client; it gets a key of the account, which can be revoked',
    ),
  }),
  ...withTag('OpenAPI', {
    getOpenApiDocument: get('/openapi.json', everyone, 'Get this OpenAPI document'),
  }),
};

/** OperationId is the ID of an operation of the admin API. */
export type OperationId = keyof typeof OPERATIONS;

/** Reports whether an operation changes nothing. */
export function isRead({ method, reads = false }: Pick<OperationRow, 'method' | 'reads'>): boolean {
  return method === 'get' || reads;
}
