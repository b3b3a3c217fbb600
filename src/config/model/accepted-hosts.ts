/** Host names that the public listener accepts. */
import { apisOf } from './apis.js';
import type { GatewayFile } from './schema.js';

/** Returns the accepted names without ports; undefined: every name. */
export function acceptedHosts({
  gateway,
  mcp,
  ...file
}: Pick<GatewayFile, 'gateway' | 'api' | 'apis' | 'mcp'>): readonly string[] | undefined {
  const names = apisOf(file).map(({ publicUrl, hosts }) => [...hostOf(publicUrl), ...hosts]);
  if (gateway.hosts.length === 0 && names.some((ofApi) => ofApi.length === 0)) return undefined;
  // The authorization server passes its requests for `/mcp` through the gateway.
  const ofMcp = [...hostOf(mcp.oauth?.publicUrl), ...mcp.allowedHosts];
  return [...new Set([...names.flat(), ...gateway.hosts, ...ofMcp].map(hostName))];
}

/** Returns a normalized host without its port: `API.Example.com:8443` → `api.example.com`. */
export function hostName(host: string): string {
  const [, inBrackets, plain = ''] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host) ?? [undefined, undefined, host];
  return (inBrackets ?? plain).toLowerCase().replace(/\.$/, '');
}

function hostOf(origin: string | undefined): readonly string[] {
  return origin === undefined ? [] : [new URL(origin).host];
}
