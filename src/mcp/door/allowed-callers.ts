/**
 * Under which names the server may be asked, and from which pages: the browser of somebody who has a key must not be
 * led here by a page of others, under a name of theirs that leads to this machine (DNS rebinding) or under ours.
 */
import { isIP } from 'node:net';
import { isLoopbackHost } from '../../config/model/address-values.js';
import { Problem } from '../../platform/problems/errors.js';
import type { McpSettings } from '../settings.js';

/** AllowedCallers are what the settings say of both. */
export type AllowedCallers = Pick<McpSettings, 'allowedHosts' | 'allowedOrigins'>;

/** The name under which somebody was let in last, by the list that allows it: nearly all ask under the same one. */
const lastHosts = new WeakMap<readonly string[], string>();

/** Why a request is refused for its `Host` or `Origin`; undefined: it is not. */
export function callerProblem(
  { host = '', origin }: { readonly host?: string | undefined; readonly origin?: string | undefined },
  { allowedHosts, allowedOrigins }: AllowedCallers,
): Problem | undefined {
  if (origin === undefined && host === lastHosts.get(allowedHosts)) return undefined;
  const name = nameOf(host);
  // Whoever leads a browser here needs a name: an address is where it is.
  const isUnnamed = isLoopbackHost(name) || isIP(name) !== 0;
  if (!isUnnamed && !allowedHosts.some((allowed) => nameOf(allowed) === name)) {
    return refusal(`The MCP server is not asked under ${JSON.stringify(name.slice(0, 100))}: see mcp.allowedHosts.`);
  }
  lastHosts.set(allowedHosts, host);
  if (origin === undefined || isOfHost(origin, name)) return undefined;
  if (allowedOrigins.includes(origin) || allowedOrigins.includes('*')) return undefined;
  return refusal(`A page of ${JSON.stringify(origin.slice(0, 100))} may not ask: see mcp.allowedOrigins.`);
}

/** Whether a page comes from the host that it asks; of this machine every name is one. */
function isOfHost(origin: string, name: string): boolean {
  const url = URL.parse(origin);
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) return false;
  const page = nameOf(url.host);
  return page === name || (isLoopbackHost(page) && isLoopbackHost(name));
}

/** The host without its port, as names are compared. */
function nameOf(host: string): string {
  const [, inBrackets, plain = ''] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host) ?? [undefined, undefined, host];
  return (inBrackets ?? plain).toLowerCase().replace(/\.$/, '');
}

function refusal(detail: string): Problem {
  return new Problem('origin_not_allowed', { detail });
}
