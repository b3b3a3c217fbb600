/**
 * Refuses requests before authentication if they arrive in clear text (403 `tls_required`) or name an unknown host (421
 * `misdirected_request`). The response does not depend on whether the API key is valid.
 */
import type { GatewayFile } from '../../config/model/schema.js';
import type { ExposingRequest } from '../../accounts/exposed-keys.js';
import { AcceptedHosts } from '../../admission/requested-host.js';
import { bearerSecret } from '../../keys/bearer.js';
import { trustsOf, type Trusts } from '../../keys/clients/client-address.js';
import type { Logger } from '../../platform/log.js';
import { RareWarning } from '../../platform/rare-warning.js';
import { Problem } from '../../platform/problems/errors.js';
import type { Exchange } from './exchange.js';

const CLEAR_TEXT = new Problem('tls_required', {
  detail: 'Use https. A key sent over http may have been read in transit. Rotate it.',
});
/** Maximum length of a `Host` in the log, because the client chooses the value. */
const LONGEST_LOGGED_HOST = 100;
const MAX_LOGGED_NAMES = 10;

/**
 * EntranceRules checks the scheme and host of requests. Configuration changes take effect with the next request, except
 * for `gateway.trustedProxies`.
 */
export class EntranceRules {
  private requireTls: boolean | undefined;
  private revokesExposed = false;
  private readonly trusts: Trusts | undefined;
  private hosts!: AcceptedHosts;
  private readonly hostWarning: RareWarning;

  /**
   * @param onExposed called after a clear-text request with a well-formed or foreign secret was refused, if
   *   `gateway.revokeExposedKeys` is set
   */
  constructor(
    file: Pick<GatewayFile, 'gateway' | 'api' | 'mcp'>,
    private readonly onExposed: (request: ExposingRequest) => unknown = () => undefined,
    log?: Logger,
  ) {
    this.hostWarning = new RareWarning(log);
    this.trusts = trustsOf(file.gateway.trustedProxies);
    this.applyConfig(file);
  }

  /** Applies a new configuration, except for `gateway.trustedProxies`. */
  applyConfig(file: Pick<GatewayFile, 'gateway' | 'api' | 'mcp'>): void {
    const { gateway } = file;
    this.requireTls = gateway.requireTls ?? (gateway.tls === undefined ? undefined : true);
    this.revokesExposed = gateway.revokeExposedKeys;
    this.hosts = new AcceptedHosts(file);
  }

  /** Returns the error with which a request must be refused, or undefined if the request is accepted. */
  refusalOf(exchange: Exchange): Problem | undefined {
    if (exchange.scheme === 'http' && this.requireTls !== false && this.isClearText(exchange)) {
      if (this.revokesExposed) this.reportExposed(exchange);
      return CLEAR_TEXT;
    }
    const { message } = exchange;
    const problem = this.hosts.problemOf(message);
    if (problem !== undefined) this.reportHost(message.headers.host ?? '');
    return problem;
  }

  /**
   * Reports whether a request with the scheme `http` is refused. If `requireTls` is not set, it is refused only if a
   * trusted proxy reports that the client used HTTP.
   */
  private isClearText({ message: { headers, socket } }: Exchange): boolean {
    if (this.requireTls === true) return true;
    return headers['x-forwarded-proto'] !== undefined && this.trusts?.(socket.remoteAddress ?? '') === true;
  }

  /**
   * Calls `onExposed` for the key of a request, after the response. Reads the secret now, because the connection may
   * serve another request by then.
   */
  private reportExposed(exchange: Exchange): void {
    const { clientAddress, requestId, isFromUnknownProxy } = exchange;
    const secret = bearerSecret(exchange.authorization, exchange.rawHeaders, exchange.url);
    if (typeof secret !== 'string') return;
    setImmediate(() => this.onExposed({ secret, clientAddress, requestId, isFromUnknownProxy }));
  }

  private reportHost(host: string): void {
    const accepted = [...(this.hosts.names ?? [])].slice(0, MAX_LOGGED_NAMES);
    this.hostWarning.warn(
      { event: 'host_refused', host: host.slice(0, LONGEST_LOGGED_HOST), accepted },
      'Requests for a host that is neither of an API nor in gateway.hosts are rejected with 421',
    );
  }
}
