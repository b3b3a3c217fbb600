/** Counts the open connections of each client network. */
import type { Socket } from 'node:net';
import { clientNetwork } from '../client-network.js';

/** NetworkCounts counts open connections by client network (for IPv6, the /64). */
export class NetworkCounts {
  private readonly counts = new Map<string, number>();
  private readonly countDown: (this: Socket) => void;

  constructor() {
    const { counts } = this;
    this.countDown = function countDown() {
      // Node caches the address when `add` reads it, so the address is available after the close.
      const network = clientNetwork(this.remoteAddress ?? '');
      const left = (counts.get(network) ?? 0) - 1;
      if (left > 0) counts.set(network, left);
      else counts.delete(network);
    };
  }

  /**
   * Counts a connection until the connection closes. Returns the number of open connections of its network, including
   * this connection.
   */
  add(socket: Socket): number {
    const network = clientNetwork(socket.remoteAddress ?? '');
    const count = (this.counts.get(network) ?? 0) + 1;
    this.counts.set(network, count);
    socket.on('close', this.countDown);
    return count;
  }
}
