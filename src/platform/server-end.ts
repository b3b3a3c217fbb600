/**
 * How a server of Node's ends: with its last response. Node closes the connections that are idle at that moment. It
 * would wait for those that become so later, for whoever has sent half a head, and for half a handshake.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { responseUnderWay } from './node-internals.js';

const SWEEP_INTERVAL_MS = 100;
/** A request that is on its way when the server closes has so long to arrive. */
const GRACE_MS = 1_000;

/** ServerEnd knows the connections of a server, those whose handshake is not done too. Made before it listens. */
export class ServerEnd {
  /** By the client's address and port: a connection with TLS stands in the place of the one below it. */
  private readonly open = new Map<string, Socket>();

  /** @param graceMs for a request that is on its way when the server closes. */
  constructor(
    private readonly server: Server,
    private readonly graceMs = GRACE_MS,
  ) {
    const { open } = this;
    server.on('connection', (socket: Socket) => {
      const client = clientOf(socket);
      open.set(client, socket);
      socket.once('close', () => open.delete(client));
    });
    server.on('secureConnection', (socket: Socket) => open.set(clientOf(socket), socket));
  }

  /** Closes the server and ends what nothing is under way on, until the last response has gone. */
  async during(close: () => Promise<unknown>): Promise<void> {
    const startedMs = performance.now();
    const sweep = setInterval(() => {
      // For Node a connection is idle as soon as its response has its end, also while most of that waits to be sent.
      if (!this.isWriting) this.server.closeIdleConnections();
      if (performance.now() - startedMs >= this.graceMs) this.endWithoutRequest();
    }, SWEEP_INTERVAL_MS);
    try {
      await close();
    } finally {
      clearInterval(sweep);
    }
  }

  private get isWriting(): boolean {
    return [...this.open.values()].some((socket) => responseUnderWay(socket)?.writableEnded === true);
  }

  private endWithoutRequest(): void {
    for (const socket of this.open.values()) if (responseUnderWay(socket) === null) socket.destroy();
  }
}

function clientOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
