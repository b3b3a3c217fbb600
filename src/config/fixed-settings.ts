/** What is built when the program starts, and stays until it starts anew, whatever a later configuration says. */
import { isDeepStrictEqual } from 'node:util';
import { publicUrlOf } from './load.js';
import type { Config, GatewayFile } from './model/schema.js';

const FIXED: readonly (readonly [name: string, of: (file: GatewayFile) => unknown])[] = [
  ['gateway.host', ({ gateway }) => gateway.host],
  ['gateway.port', ({ gateway }) => gateway.port],
  ['gateway.tls', ({ gateway }) => gateway.tls],
  ['gateway.trustedProxies', ({ gateway }) => gateway.trustedProxies],
  ['gateway.proxyProtocol', ({ gateway }) => gateway.proxyProtocol],
  ['gateway.hsts', ({ gateway }) => gateway.hsts],
  ['admin', ({ admin }) => admin],
  ['api.basePath', ({ api }) => api.basePath],
  ['usage', ({ usage }) => usage],
];

/** The part of a running file that stays. */
export type FixedSettings = Pick<GatewayFile, 'admin' | 'usage'> & {
  readonly gateway: Pick<GatewayFile['gateway'], 'host' | 'port' | 'tls' | 'trustedProxies' | 'proxyProtocol' | 'hsts'>;
  readonly api: Pick<GatewayFile['api'], 'basePath'>;
};

/** What of this file stays. */
export function fixedSettings({ gateway, admin, api, usage }: GatewayFile): FixedSettings {
  const { host, port, tls, trustedProxies, proxyProtocol, hsts } = gateway;
  return {
    gateway: { host, port, tls, trustedProxies, proxyProtocol, hsts },
    admin,
    api: { basePath: api.basePath },
    usage,
  };
}

/** The configuration with what stays in the place of what it says itself. */
export function withFixedSettings<Given extends Config>(next: Given, fixed: FixedSettings): Given {
  const file: GatewayFile = {
    ...next.file,
    gateway: { ...next.file.gateway, ...fixed.gateway },
    admin: fixed.admin,
    api: { ...next.file.api, ...fixed.api },
    usage: fixed.usage,
  };
  return { ...next, file, publicUrl: publicUrlOf(file) };
}

/** Settings that differ and only count after a restart. */
export function settingsToRestartFor(running: GatewayFile, next: GatewayFile): string[] {
  return FIXED.filter(([, of]) => !isDeepStrictEqual(of(running), of(next))).map(([name]) => name);
}
