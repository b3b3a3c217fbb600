/**
 * Shuts down a Node server after its last response. By itself, Node only closes connections that are idle at that
 * moment. Node would also wait for connections that become idle later, for partial request heads and for unfinished
 * handshakes.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { currentResponse } from './node-internals.js';

const SWEEP_INTERVAL_MS = 100;
/** Time for a request that is still arriving when the server closes. */
const GRACE_MS = 1_000;

/**
 * ServerEnd tracks the connections of a server, including unfinished handshakes. Create it before the server listens.
 */
export class ServerEnd {
  /** Open connections by client address and port, so that a TLS connection replaces the TCP connection below it. */
  private readonly open = new Map<string, Socket>();

  /** @param graceMs time for a request that is still arriving when the server closes */
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

  /**
   * Runs `close`. Meanwhile, closes connections that have no request.
   * @param close stops the server and resolves when all its connections have ended
   */
  async closeServer(close: () => Promise<unknown>): Promise<void> {
    const startedMs = performance.now();
    const sweep = setInterval(() => {
      // Node counts a connection as idle once its response has ended, even if most of it has not been sent.
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
    return [...this.open.values()].some((socket) => currentResponse(socket)?.writableEnded === true);
  }

  private endWithoutRequest(): void {
    for (const socket of this.open.values()) if (currentResponse(socket) === null) socket.destroy();
  }
}

function clientOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
