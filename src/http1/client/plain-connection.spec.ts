/** Connections that are read by hand as long as they are plain, and Node's from then on: on real sockets. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { plainConnectionOf, type PlainConnection, type Transaction } from './plain-connection.js';
import { readPlainRequests } from './plain-listener.js';
import type { PlainRequest } from './plain-request.js';

/** A request that was read by hand. */
class Served implements Transaction {
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

  answer(body: string): void {
    this.connection.writeWhole(200, `Content-Length: ${body.length}\r\n`, body);
  }
}

let server: Server;
let clients: Socket[];
let served: Served[];
/** Paths that Node has read. */
let nodes: string[];
let isServing: boolean;
/** Answers at once, unless a test does it by itself. */
let isPrompt: boolean;

beforeEach(async () => {
  clients = [];
  served = [];
  nodes = [];
  isServing = true;
  isPrompt = true;
  server = createServer((message, response) => {
    const plain = plainConnectionOf(message.socket);
    if (plain?.adopt(message, response) === true) return;
    if (plain?.countNodes(response) === false) return;
    nodes.push(message.url ?? '');
    response.end(`node ${message.url}`);
  });
  server.keepAliveTimeout = 0;
  server.on('clientError', (_error, socket) => void socket.destroy());
  readPlainRequests(server, {
    keepAliveTimeoutMs: 65_000,
    serve: (request, connection) => {
      if (!isServing) return false;
      const one = new Served(request, connection);
      served.push(one);
      if (isPrompt) one.answer(`hand ${request.url}`);
      return true;
    },
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(async () => {
  for (const client of clients) client.destroy();
  server.close();
  server.closeAllConnections();
  await once(server, 'close');
});

/** A client that shows everything that it was sent. */
class Client {
  text = '';
  isEnded = false;
  readonly socket = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen: true });

  constructor() {
    clients.push(this.socket);
    this.socket.on('error', () => undefined);
    this.socket.on('data', (bytes: Buffer) => (this.text += bytes.toString('latin1')));
    this.socket.on('end', () => (this.isEnded = true));
    this.socket.on('close', () => (this.isEnded = true));
  }

  send(text: string): void {
    this.socket.write(text);
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

async function until(isTrue: () => boolean): Promise<void> {
  for (let waited = 0; !isTrue(); waited += 5) {
    if (waited > 3_000) throw new Error('not within three seconds');
    await sleep(5);
  }
}

const onlyOne = (): Served => {
  expect(served).toHaveLength(1);
  return served[0] as Served;
};

/** A client whose request is under way. */
async function asked(): Promise<Client> {
  const client = new Client();
  isPrompt = false;
  client.get('/1');
  await until(() => served.length === 1);
  return client;
}

/** A client with an answer that it has not taken. */
async function unread(): Promise<Client> {
  const client = await asked();
  client.socket.pause();
  onlyOne().answer('x'.repeat(16 * 1024 * 1024));
  return client;
}

describe('plain requests', () => {
  it('are served one after the other without Node', async () => {
    const client = new Client();
    for (const path of ['/1', '/2', '/3']) {
      client.get(path);
      await client.sees(`hand ${path}`);
    }
    expect(nodes).toEqual([]);
    expect(served.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(client.text).toMatch(
      /^HTTP\/1\.1 200 OK\r\nContent-Length: 7\r\nConnection: keep-alive\r\nKeep-Alive: timeout=65\r\n\r\nhand/,
    );
  });

  it('that say so have the last answer of their connection, and what comes behind it is not served', async () => {
    const client = new Client();
    isPrompt = false;
    client.get('/1', 'Connection: close\r\n');
    await until(() => served.length === 1);
    client.get('/2');
    await sleep(30);
    onlyOne().answer('last');
    await until(() => client.isEnded);
    expect(client.text).toContain('\r\nConnection: close\r\n\r\nlast');
    expect([served.length, nodes]).toEqual([1, []]);
  });

  it.each(['resetAndDestroy', 'destroy'] as const)('whose client has gone (%s) end with status 0', async (leave) => {
    const client = await asked();
    client.socket[leave]();
    await until(() => onlyOne().status === 0);
    onlyOne().answer('nobody hears this');
    expect(onlyOne().connection.isGone).toBe(true);
  });

  it('whose client has closed its side are answered, and the connection ends', async () => {
    const client = await asked();
    client.socket.end();
    await sleep(150);
    onlyOne().answer('all the same');
    await until(() => onlyOne().status === 200 && client.isEnded);
    expect(client.text).toMatch(/^HTTP\/1\.1 200 OK\r\nContent-Length: 12\r\nConnection: close\r\n\r\nall the same$/);
  });

  it('end when the client has taken the answer, not before', async () => {
    const client = await unread();
    await sleep(50);
    expect(onlyOne().status).toBeUndefined();
    expect(onlyOne().connection.hasRequest).toBe(true);
    client.socket.resume();
    await until(() => onlyOne().status === 200);
    client.get('/2');
    await until(() => served.length === 2);
  });
});

describe('a connection becomes Node’s', () => {
  it.each([
    ['with a request in two pieces', ['GET /1 HT', 'TP/1.1\r\nHost: h\r\n\r\n']],
    ['with a body', ['POST /1 HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nab']],
    ['with two requests at once', ['GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\n']],
  ])('%s, and every request is read once', async (_how, pieces) => {
    const client = new Client();
    client.get('/0');
    await client.sees('hand /0');
    for (const piece of pieces) {
      client.send(piece);
      await sleep(20);
    }
    await client.sees('hand /0', 'node /1');
    client.get('/9');
    await client.sees('hand /0', 'node /1', 'node /9');
    expect(served).toHaveLength(1);
    expect(nodes.filter((path) => path === '/1')).toHaveLength(1);
  });

  it('when whoever serves does not want the request', async () => {
    isServing = false;
    const client = new Client();
    client.get('/1');
    await client.sees('node /1');
  });

  it('when an answer streams: the request is the same one, and not served again', async () => {
    const client = new Client();
    isPrompt = false;
    client.get('/1?x=y', 'X-A: b\r\n');
    await until(() => served.length === 1);
    const one = onlyOne();
    const { response } = one.connection;
    expect(one.nodes?.response).toBe(response);
    expect(one.nodes?.message).toMatchObject({ url: '/1?x=y', complete: true, rawHeaders: one.request.rawHeaders });
    response.writeHead(200);
    response.write('some ');
    await client.sees('some ');
    response.end('more');
    client.get('/2');
    await client.sees('some ', 'more', 'node /2');
    expect([served.length, nodes]).toEqual([1, ['/2']]);
  });

  it('when a request comes while another is under way, and both are answered in their order', async () => {
    const client = await asked();
    client.get('/2');
    await until(() => nodes.length === 1);
    await sleep(20);
    expect(client.text).toBe('');
    onlyOne().nodes?.response.end('first');
    await client.sees('first', 'node /2');
  });

  it('when a request comes behind an answer that the client has not taken, and that one is not asked for again', async () => {
    const client = await unread();
    client.get('/2');
    await sleep(50);
    expect([onlyOne().status, onlyOne().nodes]).toEqual([undefined, undefined]);
    client.socket.resume();
    await client.sees('HTTP/1.1 200', 'xxx', 'HTTP/1.1 200', 'node /2');
    expect([onlyOne().status, nodes]).toEqual([200, ['/2']]);
  });

  it('behind an answer that the client never takes, whose end is told when it has gone', async () => {
    const client = await unread();
    client.get('/2');
    await sleep(50);
    client.socket.resetAndDestroy();
    await until(() => onlyOne().status === 0);
  });

  it('when what follows is no HTTP, which Node refuses', async () => {
    const client = new Client();
    client.get('/1');
    await client.sees('hand /1');
    client.send('\u0016\u0003\u0001 not this protocol');
    await until(() => client.isEnded);
    expect(nodes).toEqual([]);
  });

  it('and a WebSocket, whose bytes pass both ways', async () => {
    server.on('upgrade', (_message, socket: Socket, head: Buffer) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n');
      socket.write(`head ${head.toString()},`);
      socket.on('end', () => socket.end());
      socket.on('data', (bytes: Buffer) => socket.write(`echo ${bytes.toString()},`));
    });
    const client = new Client();
    client.get('/1');
    await client.sees('hand /1');
    client.send('GET /2 HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nABC');
    await client.sees('head ABC,');
    client.send('def');
    await client.sees('head ABC,', 'echo def,');
    client.send('ghi');
    await client.sees('echo ghi,');
  });

  it('and a large body, which arrives byte for byte', async () => {
    let received = 0;
    server.removeAllListeners('request');
    server.on('request', (message, response) => {
      message.on('data', (piece: Buffer) => (received += piece.length));
      message.on('end', () => response.end(`got ${received}`));
    });
    const client = new Client();
    client.get('/1');
    await client.sees('hand /1');
    const bytes = 5_000_000;
    client.send(`POST /2 HTTP/1.1\r\nHost: h\r\nContent-Length: ${bytes}\r\n\r\n`);
    client.send('x'.repeat(bytes));
    await client.sees(`got ${bytes}`);
  });
});

describe('limits', () => {
  it('of requests on a connection count those read by hand and those read by Node', async () => {
    server.maxRequestsPerSocket = 3;
    const client = new Client();
    client.get('/1');
    await client.sees('hand /1');
    expect(client.text).toContain('Keep-Alive: timeout=65, max=3\r\n');
    isServing = false;
    client.get('/2');
    await client.sees('node /2');
    expect(client.isEnded).toBe(false);
    client.get('/3');
    await until(() => client.isEnded);
    expect(client.text).toContain('node /3');
  });

  it.each([
    ['read by Node', false],
    ['read by hand, and streamed', true],
  ])('what comes behind the last request is not served, the last %s', async (_how, isByHand) => {
    server.maxRequestsPerSocket = 2;
    const client = new Client();
    client.get('/1');
    await client.sees('hand /1');
    isPrompt = false;
    const [two, three] = ['/2', '/3'].map((path) => `GET ${path} HTTP/1.1\r\nHost: h\r\n\r\n`);
    if (isByHand) {
      client.send(String(two));
      await until(() => served.length === 2);
      const response = served[1]?.connection.response;
      response?.write('streamed');
      client.send(String(three));
      await sleep(30);
      response?.end(' to its end');
    } else client.send(`${two}${three}`);
    await until(() => client.isEnded);
    expect(client.text).toContain(isByHand ? ' to its end' : 'node /2');
    expect(client.text).toContain('Connection: close');
    expect(nodes).toEqual(isByHand ? [] : ['/2']);
  });

  it('of requests on a connection read by hand alone', async () => {
    server.maxRequestsPerSocket = 2;
    const client = new Client();
    client.get('/1');
    await client.sees('hand /1');
    client.get('/2');
    await until(() => client.isEnded);
    expect(client.text).toMatch(/Connection: close\r\n\r\nhand \/2$/);
  });

  it('of connections hold, and connections that have ended are not counted', async () => {
    server.maxConnections = 1;
    for (const path of ['/1', '/2']) {
      const client = new Client();
      client.get(path);
      await client.sees(`hand ${path}`);
      const dropped = new Client();
      await until(() => dropped.isEnded);
      client.socket.destroy();
      await until(() => count() === 0);
    }
    function count(): number {
      let connections = -1;
      server.getConnections((_error, known) => (connections = known));
      return connections === -1 ? ((server as unknown as { _connections: number })._connections ?? -1) : connections;
    }
  });

  it('a connection that is reset is told of, once', async () => {
    const errors: string[] = [];
    server.removeAllListeners('clientError');
    server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      errors.push(error.code ?? '');
      socket.destroy();
    });
    const client = new Client();
    client.get('/1');
    await client.sees('hand /1');
    client.socket.resetAndDestroy();
    await until(() => errors.length > 0);
    await sleep(20);
    expect(errors).toEqual(['ECONNRESET']);
  });
});
