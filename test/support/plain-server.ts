/** A server whose plain requests are read by hand, and clients that show everything that they were sent. */
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

/** A request that was read by hand. */
export class Served implements Transaction {
  /** Undefined: it is under way. */
  status: number | undefined;
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

/** A client that shows everything that it was sent. */
export class Client {
  text = '';
  /** How much it has sent. */
  bytes = 0;
  isEnded = false;
  readonly socket: Socket;
  /** The connection below TLS; the same one where there is none. */
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

  /** Leaves without a word. */
  reset(): void {
    this.wire.resetAndDestroy();
  }

  get(path: string, more = ''): void {
    this.send(`GET ${path} HTTP/1.1\r\nHost: h\r\n${more}\r\n`);
  }

  /** Waits for these, which must come one after the other. */
  async sees(...bodies: string[]): Promise<void> {
    let at = 0;
    for (const body of bodies) {
      await until(() => this.text.includes(body, at));
      at = this.text.indexOf(body, at) + body.length;
    }
  }
}

/** Waits until something is true. */
export function until(isTrue: () => boolean): Promise<void> {
  return eventually('it is so', isTrue);
}

/** A listener on a free port, its requests and its clients. */
export class PlainServer {
  readonly served: Served[] = [];
  /** Paths that Node has read. */
  readonly nodes: string[] = [];
  isServing = true;
  /** Answers at once, unless a test does it by itself. */
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
   * @param isEncrypted over TLS.
   * @param bodyWaitMs for the rest of a small body; so long that no busy machine is late.
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

  /** Waits until the server has read what its clients have sent, and a moment for what comes of that. */
  async settled(): Promise<void> {
    const sum = (numbers: number[]): number => numbers.reduce((one, other) => one + other, 0);
    const sent = sum(this.clients.map(({ bytes }) => bytes));
    await until(() => sum(this.accepted.map(({ bytesRead }) => bytesRead)) >= sent);
    await sleep(2);
  }

  connect(): Client {
    const client = new Client((this.server.address() as AddressInfo).port, this.isEncrypted);
    this.clients.push(client);
    return client;
  }

  /** The request that was read by hand. @throws Error where there is not exactly one. */
  onlyOne(): Served {
    const [one, ...others] = this.served;
    if (one === undefined || others.length > 0) throw new Error(`${this.served.length} requests were read by hand`);
    return one;
  }

  /** A client whose request is under way. */
  async asked(): Promise<Client> {
    const client = this.connect();
    this.isPrompt = false;
    client.get('/1');
    await until(() => this.served.length === 1);
    return client;
  }

  /** A client with an answer that it has not taken. */
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
