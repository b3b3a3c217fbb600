/**
 * Configures the OAuth library (`oidc-provider`). Only authorization code with PKCE for public clients, rotating
 * refresh tokens and one resource are enabled. The library is loaded when the first authorization server starts.
 */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AuthorizationError, Client, Context, Interaction, Token } from 'oidc-provider';
import { DatabaseUnavailable } from '../stores/database/database-errors.js';
import { createAccessToken, hashSecret } from '../keys/api-key-format.js';
import { REQUEST_LIFETIME_MS, SUBJECT, TICKET, type AuthorizationRequests } from './clients/authorization-requests.js';
import type { ClientKeys } from './clients/client-keys.js';
import type { ObjectOrigin } from './clients/object-limits.js';
import type { OAuthObjects, StoredPayload } from './clients/oauth-objects.js';
import type { Clock } from '../platform/clock.js';
import type { Logger } from '../platform/log.js';
import { isOfOwnMachine, placeOf } from './client-metadata.js';
import type { ClientDocuments } from './client-documents.js';
import { ROUTES } from './metadata.js';
import { adapterOf } from './stored-objects.js';
import { TokenWrites } from './token-writes.js';

/** Lifetime of a browser session at the authorization server, as long as the time for a decision in the panel. */
const SESSION_SECONDS = 600;
const CODE_SECONDS = 60;
/**
 * Lifetime of an unused refresh token. When the token expires, its key remains, but the client must ask a member again.
 */
const REFRESH_TOKEN_SECONDS = 30 * 86_400;
/** `Retry-After` in seconds while the database is unavailable, as in the admin API. */
const RETRY_SECONDS = '2';
const UNAVAILABLE = 'The database cannot be reached right now. Try again in a moment.';
const DOCUMENT_CACHE_SECONDS = { min: 60, max: 3_600 };

/** ProviderParts holds the dependencies of the library setup. */
export interface ProviderParts {
  /** Issuer URL (`mcp.oauth.publicUrl`). */
  readonly issuer: string;
  /** URL of the resource that access tokens are issued for: the MCP server. */
  readonly resource: string;
  readonly tokenLifetimeMs: number;
  readonly objects: OAuthObjects;
  readonly keys: ClientKeys;
  readonly clock: Clock;
  readonly requests: AuthorizationRequests;
  readonly documents: Pick<ClientDocuments, 'fetchDocument' | 'keep'>;
  /** Returns every scope that an operation requires. */
  readonly scopes: () => readonly string[];
  /** Returns the URL of the panel's page for a request, given the request's ID. */
  readonly panelUrl: (id: string) => string;
  /** Reports whether this address may trigger the fetch of a document now. */
  readonly mayFetch: (address: string) => Promise<boolean>;
  /** Returns the origin of a request, given its address and its client's ID. */
  readonly originOf: (address: string, clientId: string) => ObjectOrigin;
  readonly resumeUrl: (id: string) => string;
  readonly log: Logger;
}

/** ServeOAuth serves a request to one of the library's routes. */
export type ServeOAuth = (request: IncomingMessage, response: ServerResponse) => void;

/** Configures the library and returns its request handler. Rejects if the library cannot be loaded. */
export async function openProvider(parts: ProviderParts): Promise<ServeOAuth> {
  const { default: Provider, interactionPolicy, errors } = await import('oidc-provider');
  const { issuer, resource, tokenLifetimeMs, scopes } = parts;
  const policy = interactionPolicy.base();
  const { Check } = interactionPolicy;
  // Always ask for consent, because each grant has its own key and expiration.
  policy
    .get('consent')
    .checks.add(
      new Check('asked_each_time', 'a person has to say so', 'consent_required', ({ oidc: { result } }) =>
        result?.consent === undefined ? Check.REQUEST_PROMPT : Check.NO_NEED_TO_PROMPT,
      ),
    );
  const { objects, keys, clock } = parts;
  const usedTwice = (): Error => new errors.InvalidGrant('it has been used already');
  const tooMany = (retryAfterMs: number): Error => {
    Provider.ctx?.set('Retry-After', String(Math.ceil(retryAfterMs / 1_000)));
    const error = new errors.CustomOIDCProviderError('slow_down', 'this client has got too many tokens just now');
    return Object.assign(error, { status: 429, statusCode: 429 });
  };
  const writes = new TokenWrites({ objects, keys, clock, request: () => Provider.ctx, usedTwice, tooMany });
  const openRequest = (id: string, interaction: StoredPayload, expiresAtMs: number): Promise<void> => {
    const { ip, oidc } = Provider.ctx ?? {};
    if (ip === undefined || oidc?.client === undefined) throw new Error('an interaction of no request');
    return parts.requests.open(id, interaction, expiresAtMs, parts.originOf(ip, oidc.client.clientId));
  };
  const stored = { ...parts, writes, openRequest };
  const provider = new Provider(issuer, {
    adapter: (kind: string) => adapterOf(kind, stored),
    clients: [],
    jwks: unusedKeys(),
    cookies: cookiesOf(issuer),
    routes: ROUTES,
    scopes: [],
    claims: {},
    responseTypes: ['code'],
    clientAuthMethods: ['none'],
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
    pkce: { required: () => true },
    interactions: {
      policy,
      url: async (ctx: Context, interaction: Interaction) => {
        await addRequest(parts, ctx.oidc.client, interaction);
        return parts.panelUrl(interaction.uid);
      },
    },
    // Use only the consent that a member has just given in this browser, never an earlier grant.
    loadExistingGrant: async (ctx: Context) => {
      const { grantId: keyId, ticketHash } = ctx.oidc.result?.consent ?? {};
      if (keyId === undefined) return undefined;
      if (hashSecret(String(ctx.query[TICKET])) !== ticketHash)
        throw new errors.AccessDenied('the request was allowed in another browser');
      return ctx.oidc.provider.Grant.find(keyId);
    },
    findAccount: (_ctx: Context, id: string) =>
      id === SUBJECT ? { accountId: id, claims: async () => ({ sub: id }) } : undefined,
    issueRefreshToken: async () => true,
    rotateRefreshToken: (ctx: Context) => {
      // Check before the library consumes the refresh token.
      if (requestsOtherResource(ctx, resource)) throw new errors.InvalidTarget();
      if (requestsFewerScopes(ctx, resource)) throw new errors.InvalidScope('a token has every scope that was granted');
      return true;
    },
    expiresWithSession: async () => false,
    revokeGrantPolicy: () => true,
    clientBasedCORS: () => true,
    fetch: (url: string | URL) => parts.documents.fetchDocument(String(url)),
    renderError: showError,
    ttl: {
      AccessToken: () => Math.floor(tokenLifetimeMs / 1_000),
      AuthorizationCode: () => CODE_SECONDS,
      Grant: () => REFRESH_TOKEN_SECONDS,
      IdToken: () => CODE_SECONDS,
      Interaction: () => REQUEST_LIFETIME_MS / 1_000,
      RefreshToken: () => REFRESH_TOKEN_SECONDS,
      Session: () => SESSION_SECONDS,
    },
    features: {
      devInteractions: { enabled: false },
      userinfo: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      revocation: { enabled: true, allowedPolicy: mayRevoke },
      clientIdMetadataDocument: {
        enabled: true,
        ack: 'draft-02',
        // Known clients are exempt from the limit. Otherwise, a client would discard its grant because other clients of
        // its network fetched too many documents.
        allowFetch: async (ctx: Context, id: string) => (await parts.mayFetch(ctx.ip)) || parts.requests.isKnown(id),
        allowClient: async () => true,
        cacheDuration: DOCUMENT_CACHE_SECONDS,
      },
      resourceIndicators: {
        enabled: true,
        defaultResource: async () => resource,
        useGrantedResource: async () => true,
        getResourceServerInfo: async (_ctx: Context, indicator: string) => {
          if (indicator !== resource) throw new errors.InvalidTarget();
          return { scope: scopes().join(' '), audience: resource, accessTokenFormat: 'opaque' };
        },
      },
    },
  });
  // Trust the host and protocol fields, because `oauth-server.ts` replaces the values of the client.
  provider.proxy = true;
  const { prototype } = provider.AccessToken;
  const { generateTokenId: generateDefaultId } = prototype;
  prototype.generateTokenId = function generateTokenId(this: Token): string {
    // The default function also sets the format of the token, which the library needs.
    generateDefaultId.call(this);
    return createAccessToken();
  };
  // Handle database errors that occur when the library writes the session, after its own error handling.
  provider.use(async (ctx, next) => {
    try {
      await next();
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable)) throw error;
      showUnavailable(ctx);
    }
  });
  provider.on('authorization.error', (ctx, error) => preventErrorRedirect(ctx as Context, error as AuthorizationError));
  provider.on('server_error', (ctx, error) => {
    preventErrorRedirect(ctx as Context, error as AuthorizationError);
    // The database connection already logs its outages.
    if (error instanceof DatabaseUnavailable) return showUnavailable(ctx as Context);
    parts.log.error(
      { event: 'authorization_failed', err: error },
      'The authorization server could not serve a request',
    );
  });
  return provider.callback();
}

/** Stores the request for the panel, and the client's document if the client has one. */
async function addRequest(
  { requests, documents, scopes }: ProviderParts,
  client: Client | undefined,
  { uid, params }: Interaction,
): Promise<void> {
  if (client === undefined) throw new Error('a request of no client');
  const { clientId, clientName = clientId, clientIdMetadataDocument: hasDocument = false } = client;
  if (hasDocument) await documents.keep(client);
  const requested = new Set((params['scope'] ?? '').split(' '));
  await requests.add(uid, {
    clientId,
    clientName,
    clientHost: hasDocument ? new URL(clientId).host : null,
    redirectHost: placeOf(params['redirect_uri'] ?? ''),
    scopes: scopes().filter((scope) => requested.has(scope)),
  });
}

/**
 * Reports whether a refresh request names fewer scopes than its grant has. A token always has every scope of its key,
 * so a response with fewer scopes would be wrong.
 */
function requestsFewerScopes({ oidc: { params, requestParamScopes, entities } }: Context, resource: string): boolean {
  if ((params?.['scope'] ?? '') === '') return false;
  const granted = entities.Grant.getResourceScopeFiltered(resource, entities.RefreshToken.scopes);
  return granted.split(' ').some((scope) => scope !== '' && !requestParamScopes.has(scope));
}

/** Reports whether a refresh request names another resource (RFC 8707 section 2.2). */
function requestsOtherResource({ oidc: { params } }: Context, resource: string): boolean {
  const resources: string | readonly string[] = params?.['resource'] ?? [];
  return [resources].flat().some((each) => each !== '' && each !== resource);
}

/** Reports whether a client may revoke a token. Clients may revoke only their own tokens. */
function mayRevoke(_ctx: Context, client: Client, token: { readonly clientId: string }): boolean {
  return token.clientId === client.clientId;
}

/** Generates a signing key that is never used. The library requires a key, but access tokens are opaque. */
function unusedKeys(): object {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'ES256' }] };
}

/**
 * Returns the cookie settings. Cookies hold only random IDs that the server looks up. Signatures would add nothing, and
 * all nodes would need the same signing key.
 */
function cookiesOf(issuer: string): object {
  const secure = issuer.startsWith('https:');
  const each = { httpOnly: true, sameSite: 'lax', secure, signed: false };
  return { keys: [randomBytes(32).toString('base64url')], long: each, short: each };
}

/** Responds with 503, so that clients retry and do not discard their tokens. */
function showUnavailable(ctx: Context): void {
  ctx.status = 503;
  ctx.set('Retry-After', RETRY_SECONDS);
  ctx.body = { error: 'temporarily_unavailable', error_description: UNAVAILABLE };
}

/**
 * Makes the library show an error page instead of redirecting to the client. Anyone can register a client with any
 * redirect URI. If no person has decided yet, a redirect would make this server an open redirector (RFC 9700 section
 * 4.11.2). Redirect URIs on the browser's own machine are exempt, because programs wait for the redirect.
 */
function preventErrorRedirect({ oidc }: Context, error: AuthorizationError): void {
  const isDecided = oidc.route === 'resume';
  if (!isDecided && !isOfOwnMachine(oidc.params?.['redirect_uri'] ?? '')) error.allow_redirect = false;
}

/** Shows an error as a text page in the browser. Redirecting to the client with the error would not be safe. */
function showError(ctx: Context, out: Readonly<Record<string, unknown>>, cause: unknown): void {
  if (cause instanceof DatabaseUnavailable) {
    showUnavailable(ctx);
    ctx.type = 'text/plain';
    ctx.body = `${UNAVAILABLE}\n`;
    return;
  }
  const { error, error_description: detail } = out;
  // For `prompt=none`, the library has already set the status of a redirect.
  if (ctx.status < 400) ctx.status = 400;
  ctx.type = 'text/plain';
  ctx.body =
    `This request cannot be served: ${String(detail ?? error)} (${String(error)}).\n\n` +
    'Go back to the application that you came from, and connect once more.\n';
}
