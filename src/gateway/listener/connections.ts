/**
 * Limits the connections of the public listener: their number, their idle time, and how long a client may leave data
 * unread. A periodic sweep checks all connections, so that requests have no additional cost. To save memory, all
 * connections share their listeners, and progress is recorded only for connections with unsent data.
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
import { descriptorOf, isReadByParser, queuedBytes, currentResponse } from '../../platform/node-internals.js';

const SWEEP_INTERVAL_MS = 2_000;
/**
 * Age up to which a connection without a request stays open during shutdown. Its first request is probably on the way.
 */
const NEW_CONNECTION_MS = 500;

const END_CHECK_INTERVAL_MS = 10;

/**
 * Socket fields: the number of consecutive sweeps at which the connection was idle, and the bytes that it had read at
 * the last sweep.
 */
const IDLE_SWEEPS = Symbol('idleSweeps');
const READ_BEFORE = Symbol('readBefore');

/** TrackedSocket is a socket with the fields of the sweeps. */
type TrackedSocket = Socket & {
  readonly alpnProtocol?: string | false | null;
  [IDLE_SWEEPS]?: number;
  [READ_BEFORE]?: number;
};

/**
 * Progress holds the byte counts of a connection at its last progress, and the time of that progress
 * (`performance.now()`).
 */
interface Progress {
  written: number;
  queued: number;
  sinceMs: number;
}

export class Connections {
  private readonly open = new Set<TrackedSocket>();
  /** Last progress of each connection with unsent data. */
  private readonly progress = new Map<TrackedSocket, Progress>();
  /** Open connections per network. Undefined if there is no limit per address. */
  private networks: NetworkCounts | undefined;
  private limits: ConnectionLimits;
  /**
   * Reports whether an address is that of a trusted proxy. Proxies are exempt from the limit per address, because they
   * carry many clients. Undefined if no proxy is configured.
   */
  private readonly trusts: Trusts | undefined;
  private server: Server | undefined;
  private readonly networkWarning: RareWarning;

  /** Longest idle timeout of any service, in ms. A client that reads no data for this time is disconnected. */
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
    this.networkWarning = new RareWarning(log);
    this.limits = gateway.limits;
    this.trusts = trustsOf(gateway.trustedProxies);
    this.applyConfig(gateway, services);
  }

  /** Applies new limits and idle timeouts. Connections above a lowered limit stay open. */
  applyConfig({ limits }: GatewayFile['gateway'], services: GatewayFile['services']): void {
    this.longestIdleMs = Math.max(0, ...Object.values(services).map(({ timeouts }) => timeouts.idle));
    this.limits = limits;
    if (limits.connectionsPerAddress === 0) this.networks = undefined;
    else if (this.networks === undefined) {
      this.networks = new NetworkCounts();
      for (const socket of this.open) this.exceedsNetwork(socket);
    }
    if (this.server !== undefined) limitServer(this.server, limits);
  }

  /** Starts to enforce the limits on a server. Returns a function that stops the sweeps. */
  attachTo(server: Server): () => void {
    this.server = server;
    limitServer(server, this.limits);
    server.on('drop', () => METRICS.connectionsCut.series('limit').inc());
    const count = METRICS.connections.series();
    const countDown = (): void => count.inc(-1);
    server.on('connection', (socket: TrackedSocket) => {
      if (this.descriptors.isReserved(descriptorOf(socket))) {
        SHORTAGES.record('file_descriptors', 'accept');
        disconnect(socket, 'file_descriptors');
      }
      if (this.exceedsNetwork(socket)) this.disconnectForNetwork(socket);
      count.inc();
      socket.on('close', countDown);
    });
    // With TLS, unsent data is visible only on the TLS socket.
    const event = 'setSecureContext' in server ? 'secureConnection' : 'connection';
    const { open, progress } = this;
    function forget(this: TrackedSocket): void {
      open.delete(this);
      progress.delete(this);
    }
    server.on(event, (socket: TrackedSocket) => {
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

  /**
   * Counts a connection for its network. Returns whether the network exceeds the limit. Connections of trusted proxies
   * are not counted.
   */
  private exceedsNetwork(socket: TrackedSocket): boolean {
    const { networks, trusts } = this;
    if (networks === undefined || trusts?.(socket.remoteAddress ?? '') === true) return false;
    return networks.add(socket) > this.limits.connectionsPerAddress;
  }

  private disconnectForNetwork(socket: TrackedSocket): void {
    const { connectionsPerAddress: limit } = this.limits;
    const network = clientNetwork(socket.remoteAddress ?? '');
    const setting = 'gateway.limits.connectionsPerAddress';
    this.networkWarning.warn(
      { event: 'address_connections_cut', client_network: network, setting, limit },
      'An address exceeds gateway.limits.connectionsPerAddress; list it in gateway.trustedProxies if it is your proxy',
    );
    disconnect(socket, 'address_limit');
  }

  /**
   * Reports whether any response by Node is complete but not yet sent. Node considers the connection of such a response
   * idle.
   */
  get isWriting(): boolean {
    for (const socket of this.open) if (currentResponse(socket)?.writableEnded === true) return true;
    return false;
  }

  /**
   * Closes HTTP/1.1 connections without a request. Node's `closeIdleConnections` skips connections with a partial
   * request head.
   */
  endWithoutRequest(): void {
    for (const socket of this.open) {
      if (socket.alpnProtocol !== 'h2' && !hasRequest(socket)) socket.destroy();
    }
  }

  /**
   * Waits until all connections have ended, and closes the remaining connections after `graceMs`. When the promise
   * resolves, every request has ended and has been recorded.
   */
  async endAll(graceMs: number): Promise<void> {
    const deadlineMs = performance.now() + graceMs;
    while (this.open.size > 0 && performance.now() < deadlineMs) await sleep(END_CHECK_INTERVAL_MS);
    while (this.open.size > 0) {
      for (const socket of this.open) socket.destroy();
      await sleep(END_CHECK_INTERVAL_MS);
    }
    // HTTP/2 requests end shortly after their connection.
    await sleep(END_CHECK_INTERVAL_MS);
  }

  /**
   * Closes idle connections that the gateway reads itself. Node's `closeIdleConnections` closes the others. A
   * connection that has had no request stays open until it is `NEW_CONNECTION_MS` old.
   */
  endIdlePlain(): void {
    const openedBeforeMs = performance.now() - NEW_CONNECTION_MS;
    for (const socket of this.open) {
      const connection = plainConnectionOf(socket);
      if (connection?.isIdle !== true) continue;
      if (!connection.isFresh || connection.openedMs < openedBeforeMs) socket.destroy();
    }
  }

  /**
   * Closes connections that sent nothing, that are idle, or whose client has stopped reading. Allocates nothing for
   * connections without unsent data. With 10,000 connections, garbage every two seconds would keep V8 from returning
   * memory.
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
        disconnect(socket, 'slow_reader');
      }
    }
  }

  /** Responds with 408 to a connection that has sent nothing within the head timeout, as Node does. */
  private endSilent(socket: TrackedSocket, now: number): void {
    const connection = plainConnectionOf(socket);
    if (connection === undefined || now - connection.openedMs < this.headTimeoutMs) return;
    connection.endConnection();
    this.server?.emit('clientError', errorOfPeer('ERR_HTTP_REQUEST_TIMEOUT'), socket);
  }

  /**
   * Closes a connection that had no request and received no bytes for `keepAliveTimeoutMs`. Node's own
   * `keepAliveTimeout` would set two timers per request.
   */
  private endIdle(socket: TrackedSocket): void {
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

/** Reports whether a connection has a request in progress. */
function hasRequest(socket: TrackedSocket): boolean {
  return currentResponse(socket) !== null || plainConnectionOf(socket)?.hasRequest === true;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function limitServer(server: Server, { connections, requestsPerConnection }: ConnectionLimits): void {
  server.maxConnections = connections;
  server.maxRequestsPerSocket = requestsPerConnection;
}

function disconnect(socket: Socket, reason: 'address_limit' | 'file_descriptors' | 'slow_reader'): void {
  METRICS.connectionsCut.series(reason).inc();
  socket.destroy();
}
