/** How many connections the admin listener has: in all, and of one network that is no proxy of ours. */
import type { Server } from 'node:http';
import type { AdminConfig } from '../../config/model/admin-schema.js';
import { isLoopbackHost } from '../../config/model/address-values.js';
import { boundNetworks } from '../../keys/clients/bound-networks.js';
import type { Trusts } from '../../keys/clients/client-address.js';
import { METRICS } from '../../platform/metrics.js';

/** Holds a server to its limits. A proxy of ours, and this machine, have as many as they like of all there are. */
export function boundConnections(server: Server, limits: AdminConfig['limits'], trusts: Trusts | undefined): void {
  server.maxConnections = limits.connections;
  server.on('drop', () => METRICS.connectionsCut.series('limit').inc());
  const most = limits.connectionsPerAddress;
  if (most === 0) return;
  boundNetworks(server, most, (address) => isLoopbackHost(address) || trusts?.(address) === true);
}
