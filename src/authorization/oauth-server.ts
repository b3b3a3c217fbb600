/**
 * READ FIRST: the authorization server (OAuth 2.1), on an origin of its own, for AI assistants that take no API key.
 *
 * - `metadata.ts`: the documents by which a client finds its way, and `registration.ts`, `client-documents.ts`: how it
 *   says who it is.
 * - `provider.ts`: authorization, token and revocation endpoint, by `oidc-provider`; `stored-objects.ts` keeps what it
 *   makes. A person decides in the panel (`oauth/authorization-requests.ts`).
 * - `mcp-door.ts`: requests to `/mcp` go on to the gateway, as those with a key do.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { DatabaseUnavailable } from '../database/database-errors.js';
import { clientAddress, type Trusts } from '../keys/clients/client-address.js';
import { clientNetwork } from '../keys/client-network.js';
import type { ThrottleWindows } from '../limits/throttle-windows.js';
import type { AuthorizationRequests } from '../oauth/authorization-requests.js';
import type { Logger } from '../platform/log.js';
import type { McpTokenDoor } from './mcp-door.js';
import { metadataAt, REGISTRATION_PATH, RESOURCE_PATH, ROUTES, type MetadataParts } from './metadata.js';
import type { ServeOAuth } from './provider.js';
import type { Registration } from './registration.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Of one network, at every endpoint together but `/mcp`. */
const REQUESTS_PER_MINUTE = 60;
const REGISTRATIONS_PER_HOUR = 20;
const FETCHES_PER_MINUTE = 10;
const LARGEST_BODY_BYTES = 16 * 1_024;
/** Of an authorization request but its scopes: it is kept until somebody decides. */
const LONGEST_PARAMETER = 2_048;

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

/** OAuthServerParts are what it stands on. */
export interface OAuthServerParts {
  readonly metadata: MetadataParts;
  /** The library's endpoints. */
  readonly serve: ServeOAuth;
  /** Undefined: clients may not register. */
  readonly registration: Registration | undefined;
  readonly requests: Pick<AuthorizationRequests, 'isFull'>;
  readonly door: McpTokenDoor;
  /** The gateway's way in. */
  readonly toGateway: (message: IncomingMessage, response: ServerResponse) => void;
  readonly windows: Pick<ThrottleWindows, 'increment'>;
  readonly trusts: Trusts | undefined;
  readonly log: Logger;
}

/** OAuthServer serves the requests of its origin. */
export class OAuthServer {
  constructor(private readonly parts: OAuthServerParts) {}

  /** Whether an address may have a document fetched now; counts it. Never rejects. */
  static async mayFetch(windows: OAuthServerParts['windows'], address: string): Promise<boolean> {
    return isAdmitted(windows, 'oauth-documents', address, MINUTE_MS, FETCHES_PER_MINUTE);
  }

  /** Serves a request. Never throws. */
  readonly handle = (message: IncomingMessage, response: ServerResponse): void => {
    const path = (message.url ?? '').split('?', 1)[0] ?? '';
    if (path === RESOURCE_PATH) {
      const { door, toGateway } = this.parts;
      door.enter(message);
      toGateway(message, response);
      return;
    }
    this.serve(message, response, path).catch((error: unknown) => {
      // Whoever breaks off what they send has nobody to be told, and anybody may do it.
      if (message.destroyed && !message.complete) return;
      if (!(error instanceof DatabaseUnavailable))
        this.parts.log.error({ event: 'authorization_failed', err: error }, 'The authorization server failed');
      if (!response.headersSent) response.setHeader('retry-after', '2');
      send(response, 503, { error: 'temporarily_unavailable' });
    });
  };

  private async serve(message: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    const { metadata, serve, registration, requests, windows } = this.parts;
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
    const isOfLibrary = Object.values(ROUTES).some((route) => path === route || path.startsWith(`${route}/`));
    if (!isOfLibrary && !isRegistration) return send(response, 404, { error: 'not_found' });
    const address = this.addressOf(message);
    if (!(await isAdmitted(windows, 'oauth', address, MINUTE_MS, REQUESTS_PER_MINUTE))) return tooMany(response);
    if (path === ROUTES.authorization) {
      const tooLong = tooLongParameter(message.url ?? '');
      if (tooLong !== undefined) {
        const detail = `${tooLong} must have at most ${LONGEST_PARAMETER} characters`;
        return send(response, 400, { error: 'invalid_request', error_description: detail });
      }
      if (await requests.isFull()) return busy(response);
    }
    if (isOfLibrary) {
      this.pin(message, address);
      serve(message, response);
      return;
    }
    if (method !== 'POST') return notAllowed(response, 'POST');
    if (!(await isAdmitted(windows, 'oauth-registrations', address, HOUR_MS, REGISTRATIONS_PER_HOUR)))
      return tooMany(response);
    const body = await bodyOf(message);
    if (body === undefined) return send(response, 413, { error: 'invalid_client_metadata' });
    const made = await registration?.register(body);
    if (made !== undefined) send(response, made.status, made.body);
  }

  /**
   * Host, scheme and address as we know them, whatever was sent: the library reads them from here. A request that names
   * no scope asks for every one, and a person chooses.
   */
  private pin(message: IncomingMessage, address: string): void {
    const { issuer, scopes } = this.parts.metadata;
    const { host, protocol } = new URL(issuer);
    const { headers } = message;
    headers.host = host;
    headers['x-forwarded-proto'] = protocol.slice(0, -1);
    headers['x-forwarded-for'] = address;
    delete headers['x-forwarded-host'];
    const url = URL.parse(message.url ?? '', issuer);
    if (url?.pathname !== ROUTES.authorization || (url.searchParams.get('scope') ?? '') !== '') return;
    url.searchParams.set('scope', scopes().join(' '));
    message.url = `${url.pathname}${url.search}`;
  }

  private addressOf({ socket, headers }: IncomingMessage): string {
    const told = headers['x-forwarded-for'];
    return clientAddress(socket.remoteAddress, told === undefined ? undefined : String(told), this.parts.trusts);
  }
}

/** A throttle that cannot be asked lets nobody pass it by: what is behind it costs more than it gives. */
async function isAdmitted(
  windows: OAuthServerParts['windows'],
  name: string,
  address: string,
  windowMs: number,
  limit: number,
): Promise<boolean> {
  try {
    return (await windows.increment(name, clientNetwork(address), windowMs, limit)).admitted;
  } catch {
    return false;
  }
}

/** Undefined for one that is too large, or never ends. */
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

function tooLongParameter(url: string): string | undefined {
  for (const [name, value] of new URLSearchParams(url.slice(url.indexOf('?')))) {
    if (name !== 'scope' && value.length > LONGEST_PARAMETER) return name.slice(0, 100);
  }
  return undefined;
}

function busy(response: ServerResponse): void {
  response.setHeader('retry-after', '60');
  send(response, 503, { error: 'temporarily_unavailable', error_description: 'Too many requests wait for people.' });
}

function tooMany(response: ServerResponse): void {
  response.setHeader('retry-after', '60');
  send(response, 429, { error: 'temporarily_unavailable', error_description: 'Too many requests from here.' });
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
