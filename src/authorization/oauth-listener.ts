/**
 * Starts the HTTP or HTTPS listener of the authorization server, limits its connections, and closes the listener at
 * shutdown. The start fails if the address is in use or the certificate is invalid.
 */
import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { ClientDocuments } from './client-documents.js';
import { McpTokenAuthenticator } from './mcp-token-authenticator.js';
import { RESOURCE_PATH } from './metadata.js';
import { NetworkThrottle } from './network-throttle.js';
import { OAuthServer } from './oauth-server.js';
import { openProvider } from './provider.js';
import { Registration } from './registration.js';
import { adminUrlOf } from '../config/model/admin-url.js';
import type { Config } from '../config/model/schema.js';
import { ListenerCertificate } from '../config/source/listener-certificate.js';
import { boundNetworks } from '../keys/clients/bound-networks.js';
import { trustsOf } from '../keys/clients/client-address.js';
import { resumeUrlAt } from './clients/authorization-requests.js';
import { originOf, type ObjectOrigin } from './clients/object-limits.js';
import { openOAuth, type OAuthDomain } from './clients/open-oauth.js';
import type { ThrottleWindows } from '../quota/throttle-windows.js';
import type { Clock } from '../platform/clock.js';
import { logListener, listenBare } from '../platform/listen.js';
import type { Log } from '../platform/log.js';
import { ServerEnd } from '../platform/server-end.js';

const HEAD_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 20_000;
const KEEP_ALIVE_TIMEOUT_MS = 60_000;
const MAX_CONNECTIONS = 4_096;
/** Maximum number of connections per network. Trusted proxies and trusted networks are exempt. */
const MAX_OF_NETWORK = 256;
const LARGEST_HEAD_BYTES = 16 * 1_024;
/** Time for closing the listener in addition to the drain time, in milliseconds. */
const PHASE_MARGIN_MS = 1_000;

/** ListenerParts holds the dependencies of the listener. */
export interface ListenerParts extends OAuthDomain {
  readonly quotas: { readonly throttleWindows: ThrottleWindows };
}

/** GatewayParts describes the gateway in the same process, which serves the requests to `/mcp`. */
export interface GatewayParts {
  readonly gateway: Server;
  /** Whether other processes listen on the same port. */
  readonly isShared: boolean;
  /** Returns the drain time: how long unfinished responses may take at shutdown, in milliseconds. */
  readonly drainMs: () => number;
  /**
   * Limits the connections of a listener by number, memory and slow readers. Returns a function that stops watching.
   */
  readonly watch: (server: Server, mostConnections: number) => () => void;
}

/** Ends registers functions that run at shutdown, each with a timeout. */
export interface Ends {
  add(name: string, end: () => Promise<void>, timeoutMs: () => number): void;
}

/** Starts the authorization server. Does nothing if `mcp.oauth` is not configured. Rejects with `StartError`. */
export async function startOAuthServer(
  domain: ListenerParts,
  { gateway, isShared, drainMs, watch }: GatewayParts,
  clock: Clock,
  log: Log,
  shutdown: Ends,
): Promise<void> {
  const { config, quotas } = domain;
  const { file, path } = config.current;
  const settings = file.mcp.oauth;
  if (settings === undefined) return;
  const { publicUrl: issuer, registration, tls, host, port, tokenLifetime, trustedNetworks } = settings;
  const { objects, keys, requests } = openOAuth(domain, clock);
  const trusts = trustsOf(file.gateway.trustedProxies);
  const isTrustedNetwork = trustsOf(trustedNetworks);
  const throttle = new NetworkThrottle(quotas.throttleWindows, isTrustedNetwork);
  const scopes = scopesOf(config);
  const origin = (address: string, clientId?: string): ObjectOrigin =>
    originOf(address, isTrustedNetwork?.(address) === true, clientId);
  const serve = await openProvider({
    issuer,
    resource: `${issuer}${RESOURCE_PATH}`,
    tokenLifetimeMs: tokenLifetime,
    objects,
    keys,
    requests,
    documents: new ClientDocuments(objects, clock),
    scopes,
    clock,
    panelUrl: (id) => `${adminUrlOf(config.current.file.admin)}/oauth/${id}`,
    mayFetch: (address) => throttle.admits('document', address),
    originOf: origin,
    resumeUrl: (id) => resumeUrlAt(issuer, id),
    log: log.logger,
  });
  const { mcp, api } = file;
  const { handle } = new OAuthServer({
    metadata: { issuer, name: () => mcp.name ?? api.title, scopes, hasRegistration: registration },
    serve,
    requests,
    registration: registration ? new Registration(objects, clock) : undefined,
    authenticator: new McpTokenAuthenticator(issuer),
    toGateway: (message, response) => void gateway.emit('request', message, response),
    throttle,
    originOf: origin,
    trusts,
    log: log.logger,
  });
  const certificate = tls && new ListenerCertificate('oauth', tls, path, log.logger);
  const bounds = {
    maxHeaderSize: LARGEST_HEAD_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    headersTimeout: HEAD_TIMEOUT_MS,
    // Timeout of the TLS handshake. Node's default is two minutes.
    handshakeTimeout: HEAD_TIMEOUT_MS,
  };
  const secure = certificate && createTlsServer({ ...bounds, ...(await certificate.read()) }, handle);
  const server = secure ?? createServer(bounds, handle);
  server.keepAliveTimeout = KEEP_ALIVE_TIMEOUT_MS;
  const serverEnd = new ServerEnd(server);
  const stopWatching = watch(server, MAX_CONNECTIONS);
  boundNetworks(server, MAX_OF_NETWORK, (from) => trusts?.(from) === true || isTrustedNetwork?.(from) === true);
  const stopFollowing = secure && certificate.watchServer(secure);
  const scheme = tls === undefined ? 'http' : 'https';
  const { url } = await listenBare(server, 'oauth', { host, port }, scheme, isShared);
  const end = async (): Promise<void> => {
    stopFollowing?.();
    stopWatching();
    await serverEnd.closeServer(() => closeServer(server, drainMs()));
  };
  shutdown.add('close authorization server', end, () => drainMs() + PHASE_MARGIN_MS);
  logListener('oauth', url, log);
}

/** Closes the server. After `drainMs`, closes the connections with unfinished responses. */
async function closeServer(server: Server, drainMs: number): Promise<void> {
  const cutTimer = setTimeout(() => server.closeAllConnections(), drainMs);
  await new Promise<void>((resolve) => void server.close(() => resolve()));
  clearTimeout(cutTimer);
}

/**
 * Returns a function that lists the scopes that operations require, from the current configuration. The list has no
 * wildcards, because only API keys can have wildcards.
 */
function scopesOf(running: { readonly current: Config }): () => readonly string[] {
  let config: Config | undefined;
  let scopes: readonly string[] = [];
  return () => {
    if (config !== running.current) {
      config = running.current;
      scopes = [...new Set(config.operations.flatMap((operation) => operation.scopes))].toSorted();
    }
    return scopes;
  };
}
