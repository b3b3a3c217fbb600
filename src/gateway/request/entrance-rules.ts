/**
 * Refuses requests before authentication because of how they arrived: in clear text (403 `tls_required`), or for an
 * unknown host name (421 `misdirected_request`). Valid and invalid keys get the same response.
 */
import type { GatewayFile } from '../../config/model/schema.js';
import { acceptedHosts, hostName } from '../../config/model/accepted-hosts.js';
import { isLoopbackHost } from '../../config/model/address-values.js';
import type { ExposingRequest } from '../../accounts/exposed-keys.js';
import type { ClientMessage } from '../../http/client/client-response.js';
import { bearerSecret } from '../../keys/bearer.js';
import { trustsOf, type Trusts } from '../../keys/clients/client-address.js';
import type { Logger } from '../../platform/log.js';
import { plainAddress } from '../../platform/network-list.js';
import { RareWarning } from '../../platform/rare-warning.js';
import { Problem } from '../../platform/problems/errors.js';
import type { Exchange } from './exchange.js';

const CLEAR_TEXT = new Problem('tls_required', {
  detail: 'Use https. A key sent over http may have been read in transit. Rotate it.',
});
/** Clients choose this value, so the log truncates it. */
const LONGEST_LOGGED_HOST = 100;
const MOST_LOGGED_NAMES = 10;
const OTHER_HOST = new Problem('misdirected_request', { detail: 'This API is not served under this host name.' });

/** EntranceRules applies the configuration. Changes take effect with the next request. */
export class EntranceRules {
  private requireTls: boolean | undefined;
  private revokesExposed = false;
  private readonly trusts: Trusts | undefined;
  /** Accepted host names; undefined: any. */
  private names: ReadonlySet<string> | undefined;
  /** Last accepted host. Nearly all requests use the same one. */
  private lastHost: string | undefined;
  private readonly refusals: RareWarning;

  /** @param onExposed called after the response to a request in clear text that has a well-formed key. */
  constructor(
    file: Pick<GatewayFile, 'gateway' | 'api' | 'mcp'>,
    private readonly onExposed: (request: ExposingRequest) => unknown = () => undefined,
    log?: Logger,
  ) {
    this.refusals = new RareWarning(log);
    this.trusts = trustsOf(file.gateway.trustedProxies);
    this.applyConfig(file);
  }

  /** Applies a new configuration. */
  applyConfig(file: Pick<GatewayFile, 'gateway' | 'api' | 'mcp'>): void {
    const { gateway } = file;
    this.requireTls = gateway.requireTls ?? (gateway.tls === undefined ? undefined : true);
    this.revokesExposed = gateway.revokeExposedKeys;
    const names = acceptedHosts(file);
    this.names = names === undefined ? undefined : new Set(names);
    this.lastHost = undefined;
  }

  /** Returns why a request is refused, or undefined. */
  refusalOf(exchange: Exchange): Problem | undefined {
    if (exchange.scheme === 'http' && this.requireTls !== false && this.isClearText(exchange)) {
      if (this.revokesExposed) this.reportExposed(exchange);
      return CLEAR_TEXT;
    }
    const { message } = exchange;
    const { host } = message.headers;
    // HTTP/1.0 requests may have no `Host`.
    if (this.names === undefined || host === undefined) return undefined;
    return this.accepts(host, message) ? undefined : this.refuseHost(host);
  }

  /** Without `requireTls`, a trusted proxy must report that the client used HTTP. */
  private isClearText({ message: { headers, socket } }: Exchange): boolean {
    if (this.requireTls === true) return true;
    return headers['x-forwarded-proto'] !== undefined && this.trusts?.(socket.remoteAddress ?? '') === true;
  }

  /** Reads the request now, since its connection may have another one after the response. */
  private reportExposed(exchange: Exchange): void {
    const { clientAddress, requestId, isFromUnknownProxy } = exchange;
    const secret = bearerSecret(exchange.authorization, exchange.rawHeaders, exchange.url);
    if (typeof secret !== 'string') return;
    setImmediate(() => this.onExposed({ secret, clientAddress, requestId, isFromUnknownProxy }));
  }

  private refuseHost(host: string): Problem {
    const accepted = [...(this.names ?? [])].slice(0, MOST_LOGGED_NAMES);
    this.refusals.warn(
      { event: 'host_refused', host: host.slice(0, LONGEST_LOGGED_HOST), accepted },
      'Requests for a host that is neither of an API nor in gateway.hosts are rejected with 421',
    );
    return OTHER_HOST;
  }

  /** Reports whether a host is accepted. Programs on this machine may also use loopback names. */
  private accepts(host: string, message: ClientMessage): boolean {
    if (host === this.lastHost) return true;
    const name = hostName(host);
    if (this.names?.has(name) !== true) {
      return isLoopbackHost(name) && isLoopbackHost(plainAddress(message.socket.remoteAddress ?? ''));
    }
    this.lastHost = host;
    return true;
  }
}
