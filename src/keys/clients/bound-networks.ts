/** How many connections a listener takes of one network. */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { METRICS } from '../../platform/metrics.js';
import { plainAddress } from '../../platform/network-list.js';
import type { Trusts } from './client-address.js';
import { NetworkCounts } from './network-counts.js';

/**
 * Closes what a network (IPv6: one /64) has beyond so many connections at a time.
 * @param isExempt whether an address stands for many, who have as many as they like of all there are.
 */
export function boundNetworks(server: Server, most: number, isExempt: Trusts): void {
  const networks = new NetworkCounts();
  server.on('connection', (socket: Socket) => {
    if (isExempt(plainAddress(socket.remoteAddress ?? '')) || networks.add(socket) <= most) return;
    METRICS.connectionsCut.series('address_limit').inc();
    socket.destroy();
  });
}
