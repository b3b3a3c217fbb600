/** Limits connections to the admin listener, in total and per client network. */
import type { Server } from 'node:http';
import type { AdminConfig } from '../../config/model/admin-schema.js';
import { isLoopbackHost } from '../../config/model/address-values.js';
import { boundNetworks } from '../../keys/clients/bound-networks.js';
import type { Trusts } from '../../keys/clients/client-address.js';
import { METRICS } from '../../platform/metrics.js';

/**
 * Sets the connection limits of a server. Trusted proxies and loopback addresses have only the total limit. So has
 * every client if `limits.connectionsPerAddress` is 0.
 */
export function limitConnections(server: Server, limits: AdminConfig['limits'], trusts: Trusts | undefined): void {
  server.maxConnections = limits.connections;
  server.on('drop', () => METRICS.connectionsCut.series('limit').inc());
  const mostPerNetwork = limits.connectionsPerAddress;
  if (mostPerNetwork === 0) return;
  boundNetworks(server, mostPerNetwork, (address) => isLoopbackHost(address) || trusts?.(address) === true);
}
