/** A raw server on 127.0.0.1, plain or over TLS, and a pool of connections to it; holds every call to the contract of `Call`. */
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

/** A suite for each way to a server, plain and over TLS. */
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
  /** Every connection that it has accepted. */
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

  /** Sends a call. @param on told of what it is told. */
  send(options?: RequestOptions, on?: CallListener): RecordedCall {
    const call = new RecordedCall(options);
    if (on !== undefined) call.on = on;
    this.calls.push(call);
    this.pool.dispatch(call);
    return call;
  }

  /** Returns the contents of the pool, read from outside, since only tests need them. */
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

  /** Ends everything; each call has ended once and was told nothing out of order, and nothing is left in the pool. */
  async stop(): Promise<void> {
    await this.pool.destroy();
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    const wrong = this.calls.filter(({ ends, breaches }) => ends !== 1 || breaches.length > 0);
    if (wrong.length > 0) throw new Error(`calls that were not told right: ${wrong.map(describeCall).join('; ')}`);
    const left = JSON.stringify(this.counts);
    if (left !== '{"open":0,"idle":0,"connecting":0,"queue":0}') throw new Error(`left in the pool: ${left}`);
  }
}

/** The socket below a call that has one. */
export function socketOf(call: RecordedCall): Socket {
  return (call.sending as unknown as { readonly socket: Socket }).socket;
}

/** Resets a connection, below TLS if need be. */
export function reset(socket: Socket): void {
  const { _parent: below } = socket as Socket & { readonly _parent?: Socket | null };
  (below ?? socket).resetAndDestroy();
}

const describeCall = ({ outcome, ends, breaches }: RecordedCall): string =>
  `${outcome}, ended ${ends} times, ${breaches.join(', ')}`;
