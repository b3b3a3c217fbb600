/**
 * Checks the Host header of requests to the admin listener, against DNS rebinding. In that attack, the host name of a
 * page resolves to this machine, so that browsers let the page read responses. The Host header of the requests contains
 * the host name of the page.
 */
import type { AdminConfig } from '../../config/model/admin-schema.js';
import { isLoopbackHost } from '../../config/model/address-values.js';
import { Problem } from '../../platform/problems/errors.js';

/**
 * Returns the problem `misdirected_request` unless the host is a loopback name, the host of `url`, or in `admin.hosts`.
 * Returns undefined for these hosts, and without a host, which only HTTP/1.0 allows. Ignores the port, because tunnels
 * change the port.
 * @param url URL of the admin listener
 */
export function hostRefusal(
  host: string | undefined,
  { hosts }: Pick<AdminConfig, 'hosts'>,
  url: string,
): Problem | undefined {
  if (host === undefined) return undefined;
  const name = nameOf(host);
  if (isLoopbackHost(name) || name === nameOf(new URL(url).host)) return undefined;
  if (hosts.some((own) => nameOf(own) === name)) return undefined;
  return new Problem('misdirected_request', {
    detail: `This listener only accepts the host ${url} and the names in admin.hosts of gateway.yaml.`,
  });
}

/** Normalizes a host for comparison, without its port: `Admin.Example.com:8081` → `admin.example.com`. */
function nameOf(host: string): string {
  const [, inBrackets, plain = ''] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host) ?? [undefined, undefined, host];
  return (inBrackets ?? plain).toLowerCase().replace(/\.$/, '');
}
