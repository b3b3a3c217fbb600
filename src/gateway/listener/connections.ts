/**
 * The connections of the public listener: how many there may be, how long each may be used, and the end of those whose
 * client does not read. Costs by the connection and by the second, nothing by the request. An idle connection is held
 * by its place in a set and nothing else: the listeners are the same functions for all, and what a sweep notes is of
 * those that something waits for.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { ConnectionLimits } from '../../config/model/listener-schema.js';
import type { GatewayFile } from '../../config/model/schema.js';
import { FileDescriptors } from '../../platform/resources/file-descriptors.js';
import { errorOfPeer } from '../../http/grammar/errors.js';
import { plainConnectionOf } from '../../http/client/plain-connection.js';
import { clientNetwork } from '../../keys/client-network.js';
import { trustsOf, type Trusts } from '../../keys/clients/client-address.js';
import { NetworkCounts } from '../../keys/clients/network-counts.js';
import type { Logger } from '../../platform/log.js';
import { METRICS } from '../../platform/metrics.js';
import { RareWarning } from '../../platform/rare-warning.js';
import { SHORTAGES } from '../../platform/resources/shortages.js';
import { HEAD_TIMEOUT_MS, KEEP_ALIVE_TIMEOUT_MS } from '../request/connection-timeouts.js';
import { descriptorOf, isReadByParser, queuedBytes, responseUnderWay } from '../../platform/node-internals.js';

const SWEEP_INTERVAL_MS = 2_000;
/** A connection of less has a request on the way. */
const NEW_MS = 500;

const END_CHECK_INTERVAL_MS = 10;

/** On a connection: at how many sweeps in a row it was idle, and what it had read by then. */
const IDLE_SWEEPS = Symbol('idleSweeps');
const READ_BEFORE = Symbol('readBefore');

/** A connection with our notes. */
type SystemSocket = Socket & {
  readonly alpnProtocol?: string | false | null;
  [IDLE_SWEEPS]?: number;
  [READ_BEFORE]?: number;
};

/** What a connection had written when something that waits last moved, and when that was. */
interface Progress {
  written: number;
  queued: number;
  sinceMs: number;
}

export class Connections {
  private readonly open = new Set<SystemSocket>();
  /** Of those whose clients have something to take. */
  private readonly progress = new Map<SystemSocket, Progress>();
  /** Undefined while nobody asks how many an address has. */
  private networks: NetworkCounts | undefined;
  private limits: ConnectionLimits;
  /** Proxies carry the connections of many clients: they have no limit of their own. */
  private readonly trusts: Trusts | undefined;
  private server: Server | undefined;
  private readonly networkCuts: RareWarning;

  /** How long the most patient service waits for a client; those that wait for nothing are cut after it. */
  longestIdleMs = 0;

  constructor(
    gateway: GatewayFile['gateway'],
    services: GatewayFile['services'],
    private readonly descriptors = new FileDescriptors(),
    log?: Logger,
    private readonly keepAliveTimeoutMs = KEEP_ALIVE_TIMEOUT_MS,
    private readonly sweepIntervalMs = SWEEP_INTERVAL_MS,
    private readonly headTimeoutMs = HEAD_TIMEOUT_MS,
  ) {
    this.networkCuts = new RareWarning(log);
    this.limits = gateway.limits;
    this.trusts = trustsOf(gateway.trustedProxies);
    this.use(gateway, services);
  }

  /**
   * Holds to these limits, and waits for clients as long as these services do, from
   * now on; nobody who is connected is cut.
   */
  use({ limits }: GatewayFile['gateway'], services: GatewayFile['services']): void {
    this.longestIdleMs = Math.max(0, ...Object.values(services).map(({ timeouts }) => timeouts.idle));
    this.limits = limits;
    if (limits.connectionsPerAddress === 0) this.networks = undefined;
    else if (this.networks === undefined) {
      this.networks = new NetworkCounts();
      for (const socket of this.open) this.exceedsNetwork(socket);
    }
    if (this.server !== undefined) limitServer(this.server, limits);
  }

  /** Begins to hold a server to the limits; returns what ends it. */
  watch(server: Server): () => void {
    this.server = server;
    limitServer(server, this.limits);
    server.on('drop', () => METRICS.connectionsCut.series('limit').inc());
    const count = METRICS.connections.series();
    const countDown = (): void => count.inc(-1);
    server.on('connection', (socket: SystemSocket) => {
      if (this.descriptors.isReserved(descriptorOf(socket))) {
        SHORTAGES.note('file_descriptors', 'accept');
        cut(socket, 'file_descriptors');
      }
      if (this.exceedsNetwork(socket)) this.cutForNetwork(socket);
      count.inc();
      socket.on('close', countDown);
    });
    // With TLS the socket below knows nothing of what waits for its client.
    const event = 'setSecureContext' in server ? 'secureConnection' : 'connection';
    const { open, progress } = this;
    function forget(this: SystemSocket): void {
      open.delete(this);
      progress.delete(this);
    }
    server.on(event, (socket: SystemSocket) => {
      socket[IDLE_SWEEPS] = 0;
      socket[READ_BEFORE] = 0;
      open.add(socket);
      socket.on('close', forget);
    });
    void this.descriptors.refresh();
    const timer = setInterval(() => {
      this.sweep(performance.now());
      void this.descriptors.refresh();
    }, this.sweepIntervalMs);
    timer.unref();
    return () => clearInterval(timer);
  }

  /** Counts a connection in. Returns whether its network has more than it can have. */
  private exceedsNetwork(socket: SystemSocket): boolean {
    const { networks, trusts } = this;
    if (networks === undefined || trusts?.(socket.remoteAddress ?? '') === true) return false;
    return networks.add(socket) > this.limits.connectionsPerAddress;
  }

  private cutForNetwork(socket: SystemSocket): void {
    const { connectionsPerAddress: limit } = this.limits;
    const network = clientNetwork(socket.remoteAddress ?? '');
    const setting = 'gateway.limits.connectionsPerAddress';
    this.networkCuts.warn(
      { event: 'address_connections_cut', client_network: network, setting, limit },
      'An address has more connections than gateway.limits.connectionsPerAddress; is it a proxy of yours?',
    );
    cut(socket, 'address_limit');
  }

  /** Whether a response that Node writes has its end and has not left yet: for Node its connection is idle. */
  get isWriting(): boolean {
    for (const socket of this.open) if (responseUnderWay(socket)?.writableEnded === true) return true;
    return false;
  }

  /** Cuts those on which no request is under way. Node's own way passes over what has begun to send a head. */
  endWithoutRequest(): void {
    for (const socket of this.open) {
      if (socket.alpnProtocol !== 'h2' && !hasRequest(socket)) socket.destroy();
    }
  }

  /**
   * Waits for the end of every connection, and cuts those that are left after `graceMs`. When it resolves each request
   * has its end, and that has been noted.
   */
  async endAll(graceMs: number): Promise<void> {
    const cutMs = performance.now() + graceMs;
    while (this.open.size > 0 && performance.now() < cutMs) await after(END_CHECK_INTERVAL_MS);
    while (this.open.size > 0) {
      for (const socket of this.open) socket.destroy();
      await after(END_CHECK_INTERVAL_MS);
    }
    // The requests of a connection over HTTP/2 end behind it.
    await after(END_CHECK_INTERVAL_MS);
  }

  /**
   * What `closeIdleConnections` does to connections that Node reads: ends those that wait
   * for a request, a new one not at once.
   */
  endIdlePlain(): void {
    const openedBeforeMs = performance.now() - NEW_MS;
    for (const socket of this.open) {
      const connection = plainConnectionOf(socket);
      if (connection?.isIdle !== true) continue;
      if (!connection.isFresh || connection.openedMs < openedBeforeMs) socket.destroy();
    }
  }

  /**
   * Makes no garbage of those that nothing waits for: ten thousand times some, every two seconds,
   * would keep V8 from giving memory back.
   */
  private sweep(now: number): void {
    for (const socket of this.open) {
      const waiting = socket.writableLength;
      if (waiting === 0) {
        if (this.progress.size > 0) this.progress.delete(socket);
        if (plainConnectionOf(socket)?.isFresh === true) this.endSilent(socket, now);
        else this.endIdle(socket);
        continue;
      }
      const written = socket.bytesWritten - waiting;
      const queued = queuedBytes(socket);
      const progress = this.progress.get(socket);
      if (progress === undefined || written !== progress.written || queued !== progress.queued) {
        this.progress.set(socket, { written, queued, sinceMs: now });
      } else if (now - progress.sinceMs > this.longestIdleMs) {
        cut(socket, 'slow_reader');
      }
    }
  }

  /** Ends a connection that has never said anything, as Node ends those that have not said enough. */
  private endSilent(socket: SystemSocket, now: number): void {
    const connection = plainConnectionOf(socket);
    if (connection === undefined || now - connection.openedMs < this.headTimeoutMs) return;
    connection.endConnection();
    this.server?.emit('clientError', errorOfPeer('ERR_HTTP_REQUEST_TIMEOUT'), socket);
  }

  /**
   * Ends a connection that has had no request for `keepAliveTimeoutMs`. Node's own `keepAliveTimeout` makes two timers
   * for every request: one when it begins to idle and one when it no longer does.
   */
  private endIdle(socket: SystemSocket): void {
    const { bytesRead } = socket;
    const plain = plainConnectionOf(socket);
    const isHttp = plain?.isIdle === true || isReadByParser(socket);
    if (!isHttp || hasRequest(socket) || socket.alpnProtocol === 'h2' || bytesRead !== socket[READ_BEFORE]) {
      socket[READ_BEFORE] = bytesRead;
      socket[IDLE_SWEEPS] = 0;
      return;
    }
    const sweeps = (socket[IDLE_SWEEPS] ?? 0) + 1;
    socket[IDLE_SWEEPS] = sweeps;
    if (sweeps * this.sweepIntervalMs > this.keepAliveTimeoutMs) socket.destroy();
  }
}

/** Whether a request is under way on a connection. */
function hasRequest(socket: SystemSocket): boolean {
  return responseUnderWay(socket) !== null || plainConnectionOf(socket)?.hasRequest === true;
}

function after(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function limitServer(server: Server, { connections, requestsPerConnection }: ConnectionLimits): void {
  server.maxConnections = connections;
  server.maxRequestsPerSocket = requestsPerConnection;
}

function cut(socket: Socket, reason: 'address_limit' | 'file_descriptors' | 'slow_reader'): void {
  METRICS.connectionsCut.series(reason).inc();
  socket.destroy();
}
