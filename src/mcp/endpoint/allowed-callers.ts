/**
 * Checks `Host` and `Origin` of requests to the MCP server. Without these checks, a foreign page could send requests
 * from the browser of a user with access, also by DNS rebinding.
 */
import { isIP } from 'node:net';
import { isLoopbackHost } from '../../config/model/address-values.js';
import { Problem } from '../../platform/problems/errors.js';
import type { McpSettings } from '../settings.js';

/** AllowedCallers holds the configured hosts and origins. */
export type AllowedCallers = Pick<McpSettings, 'allowedHosts' | 'allowedOrigins'>;

/** The last accepted `Host`, by list of allowed hosts. Nearly all requests use the same one. */
const lastHosts = new WeakMap<readonly string[], string>();

/** Returns the error if `Host` or `Origin` is refused, or undefined if both are allowed. */
export function callerProblem(
  { host = '', origin }: { readonly host?: string | undefined; readonly origin?: string | undefined },
  { allowedHosts, allowedOrigins }: AllowedCallers,
): Problem | undefined {
  if (origin === undefined && host === lastHosts.get(allowedHosts)) return undefined;
  const name = nameOf(host);
  // DNS rebinding needs a name, so IP addresses and loopback names are always allowed.
  const isAddressOrLoopback = isLoopbackHost(name) || isIP(name) !== 0;
  if (!isAddressOrLoopback && !allowedHosts.some((allowed) => nameOf(allowed) === name)) {
    return refusal(`The MCP server is not served under ${JSON.stringify(name.slice(0, 100))}: see mcp.allowedHosts.`);
  }
  lastHosts.set(allowedHosts, host);
  if (origin === undefined || isSameHost(origin, name)) return undefined;
  if (allowedOrigins.includes(origin) || allowedOrigins.includes('*')) return undefined;
  return refusal(`The origin ${JSON.stringify(origin.slice(0, 100))} is not allowed: see mcp.allowedOrigins.`);
}

/** Reports whether a page comes from the requested host. All loopback names count as the same host. */
function isSameHost(origin: string, name: string): boolean {
  const url = URL.parse(origin);
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) return false;
  const page = nameOf(url.host);
  return page === name || (isLoopbackHost(page) && isLoopbackHost(name));
}

/** Returns the host without its port, in lower case and without a trailing dot. */
function nameOf(host: string): string {
  const [, inBrackets, plain = ''] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host) ?? [undefined, undefined, host];
  return (inBrackets ?? plain).toLowerCase().replace(/\.$/, '');
}

function refusal(detail: string): Problem {
  return new Problem('origin_not_allowed', { detail });
}
