/** Limits the number of connections per client network on a listener. */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { METRICS } from '../../platform/metrics.js';
import { plainAddress } from '../../platform/network-list.js';
import type { Trusts } from './client-address.js';
import { NetworkCounts } from './network-counts.js';

/**
 * Closes each new connection of a network (for IPv6, a /64) that already has `maxOpen` open connections.
 * @param isExempt reports whether an address has no limit, because many clients share the address.
 */
export function boundNetworks(server: Server, maxOpen: number, isExempt: Trusts): void {
  const networks = new NetworkCounts();
  server.on('connection', (socket: Socket) => {
    if (isExempt(plainAddress(socket.remoteAddress ?? '')) || networks.add(socket) <= maxOpen) return;
    METRICS.connectionsCut.series('address_limit').inc();
    socket.destroy();
  });
}
