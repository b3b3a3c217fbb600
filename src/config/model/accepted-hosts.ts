/** The host names under which the public listener serves requests. */
import type { GatewayFile } from './schema.js';

/** Returns the names that the configuration accepts, without ports; undefined: every name. */
export function acceptedHosts({
  gateway,
  api,
  mcp,
}: Pick<GatewayFile, 'gateway' | 'api' | 'mcp'>): readonly string[] | undefined {
  const own = [...hostOf(api.publicUrl), ...gateway.hosts];
  if (own.length === 0) return undefined;
  // Requests to `/mcp` of the authorization server's listener come in at the gateway's entrance as well.
  const ofMcp = [...hostOf(mcp.oauth?.publicUrl), ...mcp.allowedHosts];
  return [...new Set([...own, ...ofMcp].map(hostName))];
}

/** Returns a host without its port, as names are compared: `API.Example.com:8443` → `api.example.com`. */
export function hostName(host: string): string {
  const [, inBrackets, plain = ''] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host) ?? [undefined, undefined, host];
  return (inBrackets ?? plain).toLowerCase().replace(/\.$/, '');
}

function hostOf(origin: string | undefined): readonly string[] {
  return origin === undefined ? [] : [new URL(origin).host];
}
