/** How many connections each network has, of those that were counted in. */
import type { Socket } from 'node:net';
import { clientNetwork } from '../client-network.js';

/** NetworkCounts counts connections by the network that they come from (IPv6: one /64), until they close. */
export class NetworkCounts {
  private readonly counts = new Map<string, number>();
  private readonly countDown: (this: Socket) => void;

  constructor() {
    const { counts } = this;
    this.countDown = function countDown() {
      // Node keeps the address that was once asked for.
      const network = clientNetwork(this.remoteAddress ?? '');
      const left = (counts.get(network) ?? 0) - 1;
      if (left > 0) counts.set(network, left);
      else counts.delete(network);
    };
  }

  /** Counts a connection in until it closes; returns how many its network has with it. */
  add(socket: Socket): number {
    const network = clientNetwork(socket.remoteAddress ?? '');
    const count = (this.counts.get(network) ?? 0) + 1;
    this.counts.set(network, count);
    socket.on('close', this.countDown);
    return count;
  }
}
