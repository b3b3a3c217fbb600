/** Limits connections to the admin listener: in total, and per network unless it is a trusted proxy. */
import type { Server } from 'node:http';
import type { AdminConfig } from '../../config/model/admin-schema.js';
import { isLoopbackHost } from '../../config/model/address-values.js';
import { boundNetworks } from '../../keys/clients/bound-networks.js';
import type { Trusts } from '../../keys/clients/client-address.js';
import { METRICS } from '../../platform/metrics.js';

/** Applies the limits to a server. Trusted proxies and this machine are only bound by the total. */
export function limitConnections(server: Server, limits: AdminConfig['limits'], trusts: Trusts | undefined): void {
  server.maxConnections = limits.connections;
  server.on('drop', () => METRICS.connectionsCut.series('limit').inc());
  const most = limits.connectionsPerAddress;
  if (most === 0) return;
  boundNetworks(server, most, (address) => isLoopbackHost(address) || trusts?.(address) === true);
}
