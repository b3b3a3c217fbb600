/** How many connections the admin listener has: in all, and of one network that is no proxy of ours. */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { AdminConfig } from '../../config/model/admin-schema.js';
import { isLoopbackHost } from '../../config/model/address-values.js';
import { plainAddress } from '../../keys/address-list.js';
import type { Trusts } from '../../keys/clients/client-address.js';
import { NetworkCounts } from '../../keys/clients/network-counts.js';
import { METRICS } from '../../platform/metrics.js';

/** Holds a server to its limits. A proxy of ours, and this machine, have as many as they like of all there are. */
export function boundConnections(server: Server, limits: AdminConfig['limits'], trusts: Trusts | undefined): void {
  server.maxConnections = limits.connections;
  server.on('drop', () => METRICS.connectionsCut.series('limit').inc());
  const most = limits.connectionsPerAddress;
  if (most === 0) return;
  const networks = new NetworkCounts();
  server.on('connection', (socket: Socket) => {
    const address = plainAddress(socket.remoteAddress ?? '');
    if (isLoopbackHost(address) || trusts?.(address) === true || networks.add(socket) <= most) return;
    METRICS.connectionsCut.series('address_limit').inc();
    socket.destroy();
  });
}
