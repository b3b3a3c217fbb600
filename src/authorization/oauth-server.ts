/**
 * READ FIRST: the authorization server (OAuth 2.1) for AI assistants that cannot use API keys. It has its own origin.
 * - `metadata.ts` has the discovery documents. `registration.ts` and `client-documents.ts` identify clients.
 * - `provider.ts` has the authorization, token and revocation endpoints, using `oidc-provider`. `stored-objects.ts`
 * stores its objects, and `token-writes.ts` groups writes. Members decide in the panel
 * (`clients/authorization-requests.ts`).
 * - `mcp-token-authenticator.ts` authenticates requests to `/mcp`, which the gateway serves.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { DatabaseUnavailable } from '../stores/database/database-errors.js';
import { clientAddress, type Trusts } from '../keys/clients/client-address.js';
import type { AuthorizationRequests } from './clients/authorization-requests.js';
import type { ObjectOrigin } from './clients/object-limits.js';
import type { Logger } from '../platform/log.js';
import type { McpTokenAuthenticator } from './mcp-token-authenticator.js';
import { metadataAt, REGISTRATION_PATH, RESOURCE_PATH, ROUTES, type MetadataParts } from './metadata.js';
import type { NetworkThrottle } from './network-throttle.js';
import type { ServeOAuth } from './provider.js';
import type { Registration } from './registration.js';

const LARGEST_BODY_BYTES = 16 * 1_024;
/**
 * Maximum length of each parameter of an authorization request except `scope`, because the request is stored until a
 * member decides.
 */
const LONGEST_PARAMETER = 2_048;

/**
 * Parameters of an authorization request that reach the library: parameters with an effect, and parameters that the
 * library must refuse. All others are removed.
 */
const PARAMETERS: ReadonlySet<string> = new Set([
  'client_id',
  'code_challenge',
  'code_challenge_method',
  'prompt',
  'redirect_uri',
  'request',
  'request_uri',
  'resource',
  'response_mode',
  'response_type',
  'scope',
  'state',
]);

const DOCUMENT_HEADERS = {
  'content-type': 'application/json',
  'cache-control': 'public, max-age=300',
  'access-control-allow-origin': '*',
} as const;
const CORS_HEADERS = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'GET, POST',
  'access-control-allow-headers': 'Content-Type, MCP-Protocol-Version',
  'access-control-max-age': '600',
} as const;

/** OAuthServerParts holds the dependencies of the server. */
export interface OAuthServerParts {
  readonly metadata: MetadataParts;
  /** Serves the library's endpoints. */
  readonly serve: ServeOAuth;
  /** Registers clients. Undefined if the configuration does not allow registration. */
  readonly registration: Registration | undefined;
  readonly requests: Pick<AuthorizationRequests, 'isKnown'>;
  readonly authenticator: McpTokenAuthenticator;
  /** Passes a request to the gateway. */
  readonly toGateway: (message: IncomingMessage, response: ServerResponse) => void;
  readonly throttle: NetworkThrottle;
  readonly originOf: (address: string) => ObjectOrigin;
  readonly trusts: Trusts | undefined;
  readonly log: Logger;
}

/**
 * OAuthServer routes the requests of its origin to the discovery documents, the library, the registration and the
 * gateway.
 */
export class OAuthServer {
  constructor(private readonly parts: OAuthServerParts) {}

  /** Serves a request. Never throws. Errors of the database or the library become a 503 response. */
  readonly handle = (message: IncomingMessage, response: ServerResponse): void => {
    const path = (message.url ?? '').split('?', 1)[0] ?? '';
    if (path === RESOURCE_PATH) {
      const { authenticator, toGateway } = this.parts;
      authenticator.prepareRequest(message);
      toGateway(message, response);
      return;
    }
    this.serve(message, response, path).catch((error: unknown) => {
      // The client aborted its request. No one reads a response, and logging aborted requests would let anyone fill the
      // log.
      if (message.destroyed && !message.complete) return;
      if (!(error instanceof DatabaseUnavailable))
        this.parts.log.error({ event: 'authorization_failed', err: error }, 'The authorization server failed');
      if (!response.headersSent) response.setHeader('retry-after', '2');
      send(response, 503, { error: 'temporarily_unavailable' });
    });
  };

  private async serve(message: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    const { metadata, serve, registration, throttle, originOf } = this.parts;
    const { method } = message;
    const document = metadataAt(path, metadata);
    const isRegistration = path === REGISTRATION_PATH && registration !== undefined;
    if (method === 'OPTIONS' && (document !== undefined || isRegistration)) {
      response.writeHead(204, CORS_HEADERS).end();
      return;
    }
    if (document !== undefined) {
      if (method !== 'GET' && method !== 'HEAD') return notAllowed(response, 'GET, HEAD');
      response.writeHead(200, DOCUMENT_HEADERS).end(document);
      return;
    }
    const isLibraryRoute = Object.values(ROUTES).some((route) => path === route || path.startsWith(`${route}/`));
    if (!isLibraryRoute && !isRegistration) return send(response, 404, { error: 'not_found' });
    const address = this.addressOf(message);
    if (path === ROUTES.token && method === 'POST') return this.serveToken(message, response, address);
    if (!(await throttle.admits('request', address))) return tooMany(response);
    if (path === ROUTES.authorization) {
      const tooLong = tooLongParameter(message.url ?? '');
      if (tooLong !== undefined) {
        const detail = `${tooLong} must have at most ${LONGEST_PARAMETER} characters`;
        return send(response, 400, { error: 'invalid_request', error_description: detail });
      }
    }
    if (isLibraryRoute) {
      this.prepareForLibrary(message, address);
      serve(message, response);
      return;
    }
    if (method !== 'POST') return notAllowed(response, 'POST');
    if (!(await throttle.admits('registration', address))) return tooMany(response);
    const body = await bodyOf(message);
    if (body === undefined) return tooLarge(response, 'invalid_client_metadata');
    const registered = await registration?.register(body, originOf(address));
    if (registered !== undefined) send(response, registered.status, registered.body);
  }

  /**
   * Serves the token endpoint. All clients of a network share the limit `oauthTokens`. Each known client also has its
   * own, lower limit, so that one client cannot use up the limit of another. The client ID is in the body, so this
   * method reads the body before the library does.
   */
  private async serveToken(message: IncomingMessage, response: ServerResponse, address: string): Promise<void> {
    const { serve, throttle, requests } = this.parts;
    if (!(await throttle.admits('token', address))) return tooMany(response);
    const body = await bodyOf(message);
    if (body === undefined) return tooLarge(response, 'invalid_request');
    const clientId = new URLSearchParams(body).get('client_id') ?? '';
    const isKnownClient = clientId !== '' && clientId.length <= LONGEST_PARAMETER && (await requests.isKnown(clientId));
    if (!(await throttle.admits('request', address, isKnownClient ? clientId : undefined))) return tooMany(response);
    this.prepareForLibrary(message, address);
    serve(withBody(message, body), response);
  }

  /**
   * Prepares a request for the library. Replaces the host, protocol and address headers, because the library trusts
   * them. In an authorization request, removes parameters without an effect, because the request is stored before a
   * member is known. Also removes unknown scopes, unless all are unknown. A missing `scope` becomes all scopes, from
   * which the member chooses. Our metadata lists only the response mode `query`, so any other mode becomes a mode that
   * the library refuses.
   */
  private prepareForLibrary(message: IncomingMessage, address: string): void {
    const { issuer, scopes } = this.parts.metadata;
    const { host, protocol } = new URL(issuer);
    const { headers } = message;
    headers.host = host;
    headers['x-forwarded-proto'] = protocol.slice(0, -1);
    headers['x-forwarded-for'] = address;
    delete headers['x-forwarded-host'];
    const url = URL.parse(message.url ?? '', issuer);
    if (url?.pathname !== ROUTES.authorization) return;
    const { searchParams: parameters } = url;
    for (const name of new Set(parameters.keys())) if (!PARAMETERS.has(name)) parameters.delete(name);
    const isOtherMode = parameters.getAll('response_mode').some((mode) => mode !== '' && mode !== 'query');
    if (isOtherMode) parameters.set('response_mode', 'unsupported');
    if (parameters.getAll('scope').length <= 1)
      parameters.set('scope', knownScopes(parameters.get('scope') ?? '', scopes()));
    message.url = `${url.pathname}${url.search}`;
  }

  private addressOf({ socket, headers }: IncomingMessage): string {
    const header = headers['x-forwarded-for'];
    return clientAddress(socket.remoteAddress, header === undefined ? undefined : String(header), this.parts.trusts);
  }
}

/** Reads a body. Returns undefined if the body is too large. Rejects if the client aborts the request. */
async function bodyOf(message: IncomingMessage): Promise<string | undefined> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of message as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > LARGEST_BODY_BYTES) return undefined;
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}

/** Creates a copy of a request whose body the library can read again. */
function withBody(message: IncomingMessage, body: string): IncomingMessage {
  const { headers, rawHeaders, method, url, socket, httpVersion, httpVersionMajor, httpVersionMinor } = message;
  const parts = { headers, rawHeaders, method, url, socket, httpVersion, httpVersionMajor, httpVersionMinor };
  return Object.assign(Readable.from([Buffer.from(body)]), parts) as unknown as IncomingMessage;
}

function tooLongParameter(url: string): string | undefined {
  for (const [name, value] of new URLSearchParams(url.slice(url.indexOf('?')))) {
    if (name !== 'scope' && value.length > LONGEST_PARAMETER) return name.slice(0, 100);
  }
  return undefined;
}

/**
 * Returns the requested scopes that exist. An empty text gets all scopes. If all scopes are unknown, returns the text,
 * cut to `LONGEST_PARAMETER`, so that the library can refuse the text.
 */
function knownScopes(requested: string, scopes: readonly string[]): string {
  const names = new Set(requested.split(' '));
  const known = scopes.filter((scope) => names.has(scope));
  if (known.length > 0) return known.join(' ');
  return requested === '' ? scopes.join(' ') : requested.slice(0, LONGEST_PARAMETER);
}

function tooMany(response: ServerResponse): void {
  response.setHeader('retry-after', '60');
  send(response, 429, { error: 'temporarily_unavailable', error_description: 'Too many requests from here.' });
}

function tooLarge(response: ServerResponse, error: string): void {
  response.setHeader('connection', 'close');
  send(response, 413, { error, error_description: `A body has at most ${LARGEST_BODY_BYTES} bytes.` });
}

function notAllowed(response: ServerResponse, allow: string): void {
  response.setHeader('allow', allow);
  send(response, 405, { error: 'invalid_request' });
}

function send(response: ServerResponse, status: number, body: object): void {
  if (response.headersSent || response.destroyed) return;
  const headers = {
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'access-control-allow-origin': '*',
  };
  response.writeHead(status, headers).end(JSON.stringify(body));
}
