/** Determines the host names that the public listener accepts. */
import { apisOf } from './apis.js';
import type { GatewayFile } from './schema.js';

/** Returns the accepted host names without ports. Returns undefined if the listener accepts every host name. */
export function acceptedHosts({
  gateway,
  mcp,
  ...file
}: Pick<GatewayFile, 'gateway' | 'api' | 'apis' | 'mcp'>): readonly string[] | undefined {
  const names = apisOf(file).map(({ publicUrl, hosts }) => [...hostOf(publicUrl), ...hosts]);
  if (gateway.hosts.length === 0 && names.some((apiHosts) => apiHosts.length === 0)) return undefined;
  // The authorization server forwards its requests for `/mcp` to the gateway, with its own host name.
  const mcpHosts = [...hostOf(mcp.oauth?.publicUrl), ...mcp.allowedHosts];
  return [...new Set([...names.flat(), ...gateway.hosts, ...mcpHosts].map(hostName))];
}

/** Returns a host in lower case, without its port and trailing dot: `API.Example.com:8443` → `api.example.com`. */
export function hostName(host: string): string {
  const [, ipv6, plain = ''] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host) ?? [undefined, undefined, host];
  return (ipv6 ?? plain).toLowerCase().replace(/\.$/, '');
}

function hostOf(origin: string | undefined): readonly string[] {
  return origin === undefined ? [] : [new URL(origin).host];
}
