/**
 * READ FIRST. Lists every throttle of the program in one table. Throttles limit requests that plans do not limit.
 * Examples are attempts to guess secrets, and requests that are free for the caller but expensive for the gateway. The
 * limits of plans are in `policies.ts`.
 */

const MINUTE_MS = 60_000;
const QUARTER_MS = 15 * MINUTE_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** ThrottleRow is one throttle: at most `limit` hits in any span of `windowMs`. */
export interface ThrottleRow {
  /** Name of the throttle in the Redis keys of its windows. */
  readonly name: string;
  readonly limit: number;
  readonly windowMs: number;
  /** Description of the owner of a window. A network is an IPv4 address or an IPv6 /64. */
  readonly by: string;
  /**
   * Place where hits are counted:
   * - `store`: in Redis, or in the process if there is no Redis
   * - `process`: in each process separately, because the request path must not wait
   * - `database`: by counting existing rows, such as invitations
   */
  readonly counted: 'store' | 'process' | 'database';
  /** Maximum number of windows that a process remembers. Beyond it, the least recently used window is forgotten. */
  readonly mostKeys: number;
}

function row(
  name: string,
  [limit, windowMs]: readonly [number, number],
  by: string,
  { counted = 'store', mostKeys = 10_000 }: Partial<Pick<ThrottleRow, 'counted' | 'mostKeys'>> = {},
): ThrottleRow {
  return { name, limit, windowMs, by, counted, mostKeys };
}

export const THROTTLES = {
  // The gateway. The setting `gateway.failedAuthentication.perMinute` replaces the limit of `wrongKeys`.
  wrongKeys: row('wrong-keys', [20, MINUTE_MS], 'network', { counted: 'process', mostKeys: 50_000 }),
  freeRequests: row('idempotent-free', [600, MINUTE_MS], 'API key', { counted: 'process' }),
  usageSums: row('usage', [60, MINUTE_MS], 'API key'),
  mcpFreeCalls: row('mcp', [120, MINUTE_MS], 'API key'),

  // The authorization server. Networks in `mcp.oauth.trustedNetworks` have a hundred times these limits.
  oauthRequests: row('oauth', [60, MINUTE_MS], 'network; at `/token` network and known client'),
  oauthTokens: row('oauth-tokens', [600, MINUTE_MS], 'network'),
  oauthRegistrations: row('oauth-registrations', [20, HOUR_MS], 'network'),
  oauthDocuments: row('oauth-documents', [10, MINUTE_MS], 'network'),

  // The admin API. The setting `admin.operatorRequestsPerMinute` replaces the limit of `adminOperator`.
  adminAnonymous: row('admin-anonymous', [1_200, MINUTE_MS], 'network'),
  adminCaller: row('admin-caller', [1_200, MINUTE_MS], 'session or account token'),
  adminOperator: row('admin-operator', [6_000, MINUTE_MS], 'operator token'),
  adminWrongTokens: row('admin-failed', [10, MINUTE_MS], 'network'),
  webhookTestsOfEndpoint: row('webhook-tests', [10, MINUTE_MS], 'webhook endpoint'),
  webhookTestsOfAccount: row('webhook-tests-account', [30, MINUTE_MS], 'account'),
  invitations: row('invitations', [100, HOUR_MS], 'account', { counted: 'database' }),
  invitationsToAddress: row('invitations-address', [5, HOUR_MS], 'account and email address', { counted: 'database' }),
  addressVerifications: row('address-verifications', [5, HOUR_MS], 'member', { counted: 'database' }),

  // Failed attempts to sign in.
  signInNetwork: row('sign-in-network', [20, MINUTE_MS], 'network'),
  signInNetworkHour: row('sign-in-network-hour', [100, HOUR_MS], 'network'),
  signInName: row('sign-in-name', [10, QUARTER_MS], 'email address'),
  signInBrowser: row('sign-in-browser', [10, QUARTER_MS], 'member and browser they have used'),
  signInCodes: row('sign-in-codes', [10, QUARTER_MS], 'member'),
  signInCodesDay: row('sign-in-codes-day', [50, DAY_MS], 'member'),
} as const satisfies Record<string, ThrottleRow>;
