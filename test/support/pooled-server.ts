/**
 * A raw server on 127.0.0.1, with or without TLS, and a connection pool. Checks the order of all callbacks of `Call`.
 */
import { describe } from '@jest/globals';
import { once } from 'node:events';
import { createServer as createPlainServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type ConnectionOptions, type TlsOptions } from 'node:tls';
import { ConnectionPool } from '../../src/http/backend/connection-pool.js';
import { Connector, type ConnectorOptions } from '../../src/http/backend/connector.js';
import { localCertificate } from './certificates.js';
import { describeWithOpenssl } from './describe-with.js';
import { RecordedCall, type CallListener, type RequestOptions } from './recorded-call.js';

const plain: (title: string, suite: () => void) => void = describe;

/** Defines a suite twice: without TLS, and over TLS if openssl is available. */
export function describeWays(title: string, suite: (isSecure: boolean) => void): void {
  plain(`${title}, plain`, () => suite(false));
  describeWithOpenssl(`${title}, over TLS`, () => suite(true));
}

export interface PoolCounts {
  readonly open: number;
  readonly idle: number;
  readonly connecting: number;
  readonly queue: number;
}

export class PooledServer {
  /** All accepted connections, in order. */
  readonly sockets: Socket[] = [];
  readonly calls: RecordedCall[] = [];
  tls: ConnectionOptions = {};

  private constructor(
    readonly server: Server,
    readonly pool: ConnectionPool,
    readonly port: number,
  ) {}

  static async start(
    isSecure: boolean,
    onSocket: (socket: Socket, index: number) => void,
    maxConnections = 1,
    options: Partial<ConnectorOptions> & { readonly idleMs?: number; readonly server?: TlsOptions } = {},
  ): Promise<PooledServer> {
    const accept = (socket: Socket): void => {
      socket.on('error', () => {});
      onSocket(socket, started.sockets.push(socket) - 1);
    };
    const server = isSecure
      ? createTlsServer({ ...localCertificate(), ...options.server }, accept)
      : createPlainServer(accept);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const host = `localhost:${port}`;
    const connector = new Connector({
      origin: `${isSecure ? 'https' : 'http'}://${host}`,
      timeoutMs: 2_000,
      lookup: undefined,
      tls: () => started.tls,
      ...options,
    });
    const started: PooledServer = new PooledServer(
      server,
      new ConnectionPool(connector, { host, maxConnections, idleMs: options.idleMs ?? 4_000 }),
      port,
    );
    if (isSecure) started.tls = { ca: localCertificate().cert };
    return started;
  }

  /** Sends a call through the pool. @param on called for each event of the call. */
  send(options?: RequestOptions, on?: CallListener): RecordedCall {
    const call = new RecordedCall(options);
    if (on !== undefined) call.on = on;
    this.calls.push(call);
    this.pool.dispatch(call);
    return call;
  }

  /** Returns the sizes of the pool's private collections. */
  get counts(): PoolCounts {
    const inside = this.pool as unknown as {
      open: ReadonlySet<unknown>;
      idle: readonly unknown[];
      connecting: number;
      queue: readonly unknown[];
    };
    const { open, idle, connecting, queue } = inside;
    return { open: open.size, idle: idle.length, connecting, queue: queue.length };
  }

  /**
   * Closes everything. Throws if a call did not end exactly once or got callbacks out of order, or if the pool is not
   * empty afterwards.
   */
  async stop(): Promise<void> {
    await this.pool.destroy();
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    const wrong = this.calls.filter(({ ends, breaches }) => ends !== 1 || breaches.length > 0);
    if (wrong.length > 0) throw new Error(`calls with wrong callbacks: ${wrong.map(describeCall).join('; ')}`);
    const left = JSON.stringify(this.counts);
    if (left !== '{"open":0,"idle":0,"connecting":0,"queue":0}') throw new Error(`left in the pool: ${left}`);
  }
}

/** Returns the socket of a call that has a connection. */
export function socketOf(call: RecordedCall): Socket {
  return (call.sending as unknown as { readonly socket: Socket }).socket;
}

/** Resets the TCP connection of a socket, which may use TLS. */
export function resetConnection(socket: Socket): void {
  const { _parent: below } = socket as Socket & { readonly _parent?: Socket | null };
  (below ?? socket).resetAndDestroy();
}

const describeCall = ({ outcome, ends, breaches }: RecordedCall): string =>
  `${outcome}, ended ${ends} times, ${breaches.join(', ')}`;
