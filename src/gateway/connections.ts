/**
 * The connections of the public listener: how many there may be, how long each may be used, and the end of those whose client
 * does not read. Costs by the connection and by the second, nothing by the request.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { ConnectionLimits } from '../config/listener-schema.js';
import type { GatewayFile } from '../config/schema.js';
import { clientNetwork } from '../keys/client-network.js';
import { METRICS } from '../metrics.js';

const SWEEP_INTERVAL_MS = 2_000;

/** A connection as Node has it: what has been handed to the system and not been taken is known to its handle alone. */
type SystemSocket = Socket & {
  readonly _handle?: { readonly writeQueueSize?: number } | null;
  /** The answer whose turn it is. */
  readonly _httpMessage?: object | null;
  readonly alpnProtocol?: string | false | null;
};

/** What a connection had written at the last sweep, and since when nothing of what waits has moved. */
interface Progress {
  written: number;
  queued: number;
  sinceMs: number;
}

export class Connections {
  private readonly open = new Map<SystemSocket, Progress>();
  private readonly byNetwork = new Map<string, number>();

  /** How long the most patient service waits for a client; those that wait for nothing are cut after it. */
  private longestIdleMs = 0;

  constructor(
    private readonly limits: ConnectionLimits,
    services: GatewayFile['services'],
  ) {
    this.use(services);
  }

  /** Waits for clients as long as these services do from now on. */
  use(services: GatewayFile['services']): void {
    this.longestIdleMs = Math.max(0, ...Object.values(services).map(({ timeouts }) => timeouts.idle));
  }

  /** Begins to hold a server to the limits; returns what ends it. */
  watch(server: Server): () => void {
    server.maxConnections = this.limits.connections;
    server.maxRequestsPerSocket = this.limits.requestsPerConnection;
    server.on('drop', () => METRICS.connectionsCut.series('limit').inc());
    if (this.limits.connectionsPerAddress > 0) server.on('connection', (socket: Socket) => this.countByNetwork(socket));
    const count = METRICS.connections.series();
    server.on('connection', (socket: Socket) => {
      count.inc();
      socket.once('close', () => count.inc(-1));
    });
    // With TLS the socket below knows nothing of what waits for its client.
    const event = 'setSecureContext' in server ? 'secureConnection' : 'connection';
    server.on(event, (socket: Socket) => this.follow(socket));
    const timer = setInterval(() => this.sweep(performance.now()), SWEEP_INTERVAL_MS);
    timer.unref();
    return () => clearInterval(timer);
  }

  /** Cuts those on which no request is under way. Node's own way passes over what has begun to send a head. */
  endWithoutRequest(): void {
    for (const socket of this.open.keys()) {
      if (socket.alpnProtocol !== 'h2' && (socket._httpMessage ?? null) === null) socket.destroy();
    }
  }

  private follow(socket: SystemSocket): void {
    this.open.set(socket, { written: 0, queued: 0, sinceMs: 0 });
    socket.once('close', () => this.open.delete(socket));
  }

  private countByNetwork(socket: Socket): void {
    const network = clientNetwork(socket.remoteAddress ?? '');
    const count = (this.byNetwork.get(network) ?? 0) + 1;
    this.byNetwork.set(network, count);
    socket.once('close', () => {
      const left = (this.byNetwork.get(network) ?? 0) - 1;
      if (left > 0) this.byNetwork.set(network, left);
      else this.byNetwork.delete(network);
    });
    if (count > this.limits.connectionsPerAddress) cut(socket, 'address_limit');
  }

  private sweep(now: number): void {
    for (const [socket, progress] of this.open) {
      const waiting = socket.writableLength;
      const written = socket.bytesWritten - waiting;
      const queued = socket._handle?.writeQueueSize ?? 0;
      if (waiting === 0 || written !== progress.written || queued !== progress.queued) {
        progress.written = written;
        progress.queued = queued;
        progress.sinceMs = now;
      } else if (now - progress.sinceMs > this.longestIdleMs) {
        cut(socket, 'slow_reader');
      }
    }
  }
}

function cut(socket: Socket, reason: 'address_limit' | 'slow_reader'): void {
  METRICS.connectionsCut.series(reason).inc();
  socket.destroy();
}
