/** Counts open connections per network. */
import type { Socket } from 'node:net';
import { clientNetwork } from '../client-network.js';

/** NetworkCounts counts open connections by client network (for IPv6, the /64). */
export class NetworkCounts {
  private readonly counts = new Map<string, number>();
  private readonly countDown: (this: Socket) => void;

  constructor() {
    const { counts } = this;
    this.countDown = function countDown() {
      // Node caches the address after the first read, so it is available after the close.
      const network = clientNetwork(this.remoteAddress ?? '');
      const left = (counts.get(network) ?? 0) - 1;
      if (left > 0) counts.set(network, left);
      else counts.delete(network);
    };
  }

  /** Counts a connection until it closes. Returns the number of connections of its network, including this one. */
  add(socket: Socket): number {
    const network = clientNetwork(socket.remoteAddress ?? '');
    const count = (this.counts.get(network) ?? 0) + 1;
    this.counts.set(network, count);
    socket.on('close', this.countDown);
    return count;
  }
}
