/** A server that reads plain requests with the gateway's own parser, and clients that record all received bytes. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { plainConnectionOf, type PlainConnection, type Transaction } from '../../src/http/client/plain-connection.js';
import { plainTlsListener, readPlainRequests, type PlainRequestHandler } from '../../src/http/client/plain-listener.js';
import type { PlainRequest } from '../../src/http/client/plain-request.js';
import { localCertificate } from './certificates.js';
import { eventually, sleep } from './processes.js';

/** Served is a request that the gateway's own parser has read. */
export class Served implements Transaction {
  /** Final status. Undefined while the request is in progress. */
  status: number | undefined;
  /** Node's objects for the request, after a handover. */
  nodes: { message: IncomingMessage; response: ServerResponse } | undefined;

  constructor(
    readonly request: PlainRequest,
    readonly connection: PlainConnection,
  ) {
    connection.begin(this, request);
  }

  onEnd(status: number): void {
    this.status = status;
  }

  onHandedOver(message: IncomingMessage, response: ServerResponse): void {
    this.nodes = { message, response };
  }

  respond(body: string): void {
    this.connection.writeWhole(200, `Content-Length: ${body.length}\r\n`, body);
  }
}

/** Client sends raw bytes, and records everything that it receives. */
export class Client {
  text = '';
  /** Number of bytes sent. */
  bytes = 0;
  isEnded = false;
  readonly socket: Socket;
  /** The TCP connection. Without TLS, the same as `socket`. */
  private readonly wire: Socket;

  constructor(port: number, isEncrypted: boolean) {
    this.wire = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    this.wire.on('error', () => undefined);
    this.socket = isEncrypted ? connectTls({ socket: this.wire, rejectUnauthorized: false }) : this.wire;
    this.socket.on('error', () => undefined);
    this.socket.on('data', (bytes: Buffer) => (this.text += bytes.toString('latin1')));
    this.socket.on('end', () => (this.isEnded = true));
    this.socket.on('close', () => (this.isEnded = true));
  }

  send(text: string): void {
    this.bytes += text.length;
    this.socket.write(text);
  }

  /** Resets the TCP connection. */
  reset(): void {
    this.wire.resetAndDestroy();
  }

  get(path: string, more = ''): void {
    this.send(`GET ${path} HTTP/1.1\r\nHost: h\r\n${more}\r\n`);
  }

  /** Waits until these texts have arrived in this order. */
  async sees(...bodies: string[]): Promise<void> {
    let at = 0;
    for (const body of bodies) {
      await waitUntil(() => this.text.includes(body, at));
      at = this.text.indexOf(body, at) + body.length;
    }
  }
}

export function waitUntil(isTrue: () => boolean): Promise<void> {
  return eventually('the condition is true', isTrue);
}

/** PlainServer listens on a free port, and records its requests. */
export class PlainServer {
  readonly served: Served[] = [];
  /** Paths of the requests that Node has parsed. */
  readonly nodes: string[] = [];
  /** If false, hands every request over to Node. */
  isServing = true;
  /** Whether plain requests are answered immediately. If false, the test must answer them. */
  isPrompt = true;
  readonly server: Server;
  private readonly clients: Client[] = [];
  private readonly accepted: Socket[] = [];

  constructor(
    private readonly isEncrypted: boolean,
    bodyWaitMs: number,
  ) {
    const onRequest = (message: IncomingMessage, response: ServerResponse): void => {
      const plain = plainConnectionOf(message.socket);
      if (plain?.adopt(message, response) === true) return;
      if (plain?.countNodeRequest(response) === false) return;
      this.nodes.push(message.url ?? '');
      response.end(`node ${message.url}`);
    };
    const handler: PlainRequestHandler = {
      keepAliveTimeoutMs: 65_000,
      bodyWaitMs,
      serve: (request, connection) => {
        if (!this.isServing) return false;
        const one = new Served(request, connection);
        this.served.push(one);
        if (this.isPrompt) one.respond(`hand ${request.url}`);
        return true;
      },
    };
    this.server = isEncrypted ? encrypted(onRequest, handler) : createServer(onRequest);
    this.server.on(isEncrypted ? 'secureConnection' : 'connection', (socket: Socket) => this.accepted.push(socket));
    this.server.keepAliveTimeout = 0;
    this.server.on('clientError', (_error, socket) => void socket.destroy());
    if (!isEncrypted) readPlainRequests(this.server, handler);
  }

  /**
   * Starts a server. The caller must stop it.
   * @param isEncrypted whether to use TLS.
   * @param bodyWaitMs how long to wait for the rest of a small body. Long by default, because the machine may be busy.
   */
  static async start(isEncrypted = false, bodyWaitMs = 30_000): Promise<PlainServer> {
    const line = new PlainServer(isEncrypted, bodyWaitMs);
    line.server.listen(0, '127.0.0.1');
    await once(line.server, 'listening');
    return line;
  }

  async stop(): Promise<void> {
    for (const { socket } of this.clients) socket.destroy();
    this.server.close();
    this.server.closeAllConnections();
    await once(this.server, 'close');
  }

  /** Waits until the server has received all bytes of its clients, and 2 ms more for their effects. */
  async settled(): Promise<void> {
    const sum = (numbers: number[]): number => numbers.reduce((one, other) => one + other, 0);
    const sent = sum(this.clients.map(({ bytes }) => bytes));
    await waitUntil(() => sum(this.accepted.map(({ bytesRead }) => bytesRead)) >= sent);
    await sleep(2);
  }

  connect(): Client {
    const client = new Client((this.server.address() as AddressInfo).port, this.isEncrypted);
    this.clients.push(client);
    return client;
  }

  /** Returns the only plain request so far. @throws Error if there is not exactly one. */
  onlyOne(): Served {
    const [one, ...others] = this.served;
    if (one === undefined || others.length > 0) throw new Error(`expected 1 plain request, got ${this.served.length}`);
    return one;
  }

  /** Connects a client, and returns it once its request is in progress. */
  async asked(): Promise<Client> {
    const client = this.connect();
    this.isPrompt = false;
    client.get('/1');
    await waitUntil(() => this.served.length === 1);
    return client;
  }

  /** Connects a client that does not read its response of 16 MiB. */
  async unread(): Promise<Client> {
    const client = await this.asked();
    client.socket.pause();
    this.onlyOne().respond('x'.repeat(16 * 1024 * 1024));
    return client;
  }
}

function encrypted(
  onRequest: (message: IncomingMessage, response: ServerResponse) => void,
  handler: PlainRequestHandler,
): Server {
  const server = createTlsServer(localCertificate(), onRequest);
  const [nodes] = server.listeners('secureConnection') as ((this: Server, socket: TLSSocket) => void)[];
  server.removeAllListeners('secureConnection');
  server.on(
    'secureConnection',
    plainTlsListener(server, (socket) => nodes?.call(server, socket), handler),
  );
  return server;
}
