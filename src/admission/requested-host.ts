/** Checks the requested host of requests against the host names of the configuration. Previews use the same check. */
import { acceptedHosts, hostName } from '../config/model/accepted-hosts.js';
import { isLoopbackHost } from '../config/model/address-values.js';
import { plainAddress } from '../platform/network-list.js';
import { Problem } from '../platform/problems/errors.js';

/** HostedMessage holds the requested host, and the peer address that decides whether loopback names are accepted. */
export interface HostedMessage {
  readonly headers: { readonly host?: string | undefined };
  readonly socket: { readonly remoteAddress?: string | undefined };
}

const UNKNOWN_HOST = new Problem('misdirected_request', { detail: 'This API is not served under this host name.' });

/** Reports whether a program on this machine sent the request to a loopback name. Such a request can use every API. */
export function isLocalRequest({ headers: { host }, socket }: HostedMessage): boolean {
  return (
    host !== undefined && isLoopbackHost(hostName(host)) && isLoopbackHost(plainAddress(socket.remoteAddress ?? ''))
  );
}

/** AcceptedHosts holds the host names that the public listener accepts. */
export class AcceptedHosts {
  /** Normalized host names. Undefined if any name is accepted. */
  readonly names: ReadonlySet<string> | undefined;
  /**
   * `Host` of the last accepted request. Nearly all requests have the same value, and then the names need not be
   * searched.
   */
  private lastHost: string | undefined;

  constructor(file: Parameters<typeof acceptedHosts>[0]) {
    const names = acceptedHosts(file);
    this.names = names === undefined ? undefined : new Set(names);
  }

  /** Returns the error of a request for an unknown host, or undefined. HTTP/1.0 requests may have no `Host`. */
  problemOf(message: HostedMessage): Problem | undefined {
    const { host } = message.headers;
    if (this.names === undefined || host === undefined || host === this.lastHost) return undefined;
    // Not remembered, because other peers must not use the name.
    if (!this.names.has(hostName(host))) return isLocalRequest(message) ? undefined : UNKNOWN_HOST;
    this.lastHost = host;
    return undefined;
  }
}
