/**
 * Checks `Host` and `Origin` of requests to the MCP server, and refuses others with 403. Without these checks, a page
 * of another site could use the server from a user's browser, also by DNS rebinding.
 */
import { isIP } from 'node:net';
import { isLoopbackHost } from '../../config/model/address-values.js';
import { Problem } from '../../platform/problems/errors.js';
import type { McpSettings } from '../settings.js';

/** AllowedCallers holds the configured host names and origins. */
export type AllowedCallers = Pick<McpSettings, 'allowedHosts' | 'allowedOrigins'>;

/**
 * Last accepted `Host` for each list of allowed hosts. Nearly all requests have the same `Host`, and then the list need
 * not be searched.
 */
const lastHosts = new WeakMap<readonly string[], string>();

/** Returns the error if the `Host` or `Origin` of a request is not allowed, or undefined if both are allowed. */
export function callerProblem(
  { host = '', origin }: { readonly host?: string | undefined; readonly origin?: string | undefined },
  { allowedHosts, allowedOrigins }: AllowedCallers,
): Problem | undefined {
  if (origin === undefined && host === lastHosts.get(allowedHosts)) return undefined;
  const name = nameOf(host);
  // DNS rebinding works only with a DNS name, so IP addresses and loopback names are always allowed.
  const isAddressOrLoopback = isLoopbackHost(name) || isIP(name) !== 0;
  if (!isAddressOrLoopback && !allowedHosts.some((allowed) => nameOf(allowed) === name)) {
    return refusal(`The MCP server is not served under ${JSON.stringify(name.slice(0, 100))}: see mcp.allowedHosts.`);
  }
  lastHosts.set(allowedHosts, host);
  if (origin === undefined || isSameHost(origin, name)) return undefined;
  if (allowedOrigins.includes(origin) || allowedOrigins.includes('*')) return undefined;
  return refusal(`The origin ${JSON.stringify(origin.slice(0, 100))} is not allowed: see mcp.allowedOrigins.`);
}

/** Reports whether a page comes from the requested host. All loopback names are the same host. */
function isSameHost(origin: string, name: string): boolean {
  const url = URL.parse(origin);
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) return false;
  const page = nameOf(url.host);
  return page === name || (isLoopbackHost(page) && isLoopbackHost(name));
}

/** Returns a host without its port, brackets and trailing dot, in lower case. */
function nameOf(host: string): string {
  const [, inBrackets, plain = ''] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host) ?? [undefined, undefined, host];
  return (inBrackets ?? plain).toLowerCase().replace(/\.$/, '');
}

function refusal(detail: string): Problem {
  return new Problem('origin_not_allowed', { detail });
}
