/** Node's private properties exist with the assumed meaning, in the Node version that the project uses. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { fstatSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { eventually } from '../../test/support/processes.js';
import {
  closeAfter,
  descriptorOf,
  forgetLastAllowed,
  interceptWrites,
  isLastAllowed,
  isReadByParser,
  keepAliveTimeoutOf,
  keepHalfClosed,
  maxRequestsOf,
  queuedBytes,
  reopenWith,
  currentResponse,
  setHead,
  setKeepAliveTimeout,
} from './node-internals.js';

const GET = 'GET / HTTP/1.1\r\nHost: h\r\n\r\n';

let server: Server;
let clients: Socket[];
/** Requests that have reached the server, in order. */
let requests: { message: IncomingMessage; response: ServerResponse }[];

beforeEach(async () => {
  clients = [];
  requests = [];
  server = createServer((message, response) => void requests.push({ message, response }));
  server.keepAliveTimeout = 0;
  server.on('connection', (socket) => socket.on('error', () => undefined));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(async () => {
  for (const client of clients) client.destroy();
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

function open(): { client: Socket; read: () => string } {
  const client = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen: true });
  clients.push(client);
  let text = '';
  client.on('error', () => undefined);
  client.on('data', (bytes) => (text += bytes.toString('latin1')));
  return { client, read: () => text };
}

/** A client with a running request. */
async function asked(text = GET) {
  const { client, read } = open();
  client.write(text);
  await eventually('the request is there', () => requests.length > 0);
  const { message, response } = requests[0]!;
  return { client, read, message, response, socket: message.socket };
}

const closed = (socket: Socket): Promise<unknown> =>
  socket.destroyed ? Promise.resolve() : new Promise((done) => socket.once('close', done));

it('the Node version is the one that the project pins', () => {
  const { optionalDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    optionalDependencies: Record<string, string>;
  };
  expect(new Set(Object.values(optionalDependencies))).toEqual(new Set([process.versions.node]));
});

describe('for a connection, Node records', () => {
  it('which response is being written: with two requests the first, and none before and after', async () => {
    const connection = once(server, 'connection');
    const { client } = open();
    const [socket] = (await connection) as [Socket];
    expect(currentResponse(socket)).toBeNull();
    client.write(GET + GET);
    await eventually('both are there', () => requests.length === 2);
    const [first, second] = requests;
    expect(currentResponse(socket)).toBe(first?.response);
    expect(currentResponse(socket)?.req).toBe(first?.message);
    first?.response.end('1');
    await eventually('the second has its turn', () => currentResponse(socket) === second?.response);
    second?.response.end('2');
    await eventually('it is over', () => currentResponse(socket) === null);
  });

  it('that its parser reads it, until an upgrade', async () => {
    server.on('upgrade', (_message, socket: Socket) => socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n'));
    const upgraded = once(server, 'upgrade');
    const { socket, response, client } = await asked();
    expect(isReadByParser(socket)).toBe(true);
    response.end();
    client.write('GET / HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n');
    await upgraded;
    expect(isReadByParser(socket)).toBe(false);
  });

  it('the bytes that the kernel has not taken', async () => {
    const { client, socket, response } = await asked();
    expect(queuedBytes(socket)).toBe(0);
    client.pause();
    response.end(Buffer.alloc(32 * 1024 * 1024));
    await eventually('the system has enough', () => queuedBytes(socket) > 0);
    client.resume();
    await eventually('all is taken', () => queuedBytes(socket) === 0 && socket.writableLength === 0);
    client.destroy();
    await closed(socket);
    expect(queuedBytes(socket)).toBe(0);
  });

  it('its file descriptor, until it is closed', async () => {
    const { socket, client } = await asked();
    expect(process.platform === 'win32' || fstatSync(descriptorOf(socket)).isSocket()).toBe(true);
    client.destroy();
    await closed(socket);
    expect(descriptorOf(socket)).toBe(-1);
  });
});

describe('a reopened socket', () => {
  it('reads into the given buffer, is counted by the server, and is closed with it', async () => {
    const buffer = Buffer.alloc(64);
    const pieces: string[] = [];
    const callback = (bytes: number): boolean => pieces.push(buffer.toString('latin1', 0, bytes)) > 0;
    server.removeAllListeners('connection');
    const connection = once(server, 'connection');
    const { client } = open();
    const [accepted] = (await connection) as [Socket];
    const socket = reopenWith(accepted, { buffer, callback });
    client.write('hello');
    await eventually('it is read', () => pieces.join('') === 'hello');
    expect(descriptorOf(accepted)).toBe(-1);
    const count = (): Promise<number> =>
      new Promise((done) => server.getConnections((_error, connections) => done(connections)));
    expect(await count()).toBe(1);
    socket.destroy();
    await closed(socket);
    expect(await count()).toBe(0);
  });
});

describe('a server with half-closed clients', () => {
  it.each([
    [true, 'late'],
    [false, ''],
  ])('sends, with keepHalfClosed %p, the response body %p', async (isKept, body) => {
    if (isKept) keepHalfClosed(server);
    const { client, read, response } = await asked();
    client.end();
    await new Promise((done) => setTimeout(done, 50));
    response.end(body);
    await eventually('it is over', () => client.readableEnded || client.destroyed);
    expect(read().endsWith(body === '' ? '' : `\r\n\r\n${body}`)).toBe(true);
    expect(read() === '').toBe(!isKept);
  });
});

describe('a response', () => {
  it('has the timeout that was set, and the maximum number of requests', async () => {
    server.keepAliveTimeout = 5_000;
    server.maxRequestsPerSocket = 3;
    const { read, response } = await asked();
    expect([keepAliveTimeoutOf(response), maxRequestsOf(response)]).toEqual([5_000, 3]);
    setKeepAliveTimeout(response, 65_000);
    response.end();
    await eventually('it is read', () => read().includes('\r\n\r\n'));
    expect(read()).toContain('Keep-Alive: timeout=65, max=3\r\n');
  });

  it('has the head that was set, byte for byte, and the next request is served', async () => {
    const { client, read, response } = await asked();
    setHead(response, 'HTTP/1.1 200 OK\r\nx-OURS: 1\r\nContent-Length: 4\r\n\r\n', 4);
    expect(response.headersSent).toBe(true);
    response.end('body', 'latin1');
    await eventually('it is read', () => read().endsWith('body'));
    expect(read()).toBe('HTTP/1.1 200 OK\r\nx-OURS: 1\r\nContent-Length: 4\r\n\r\nbody');
    client.write(GET);
    await eventually('the next one is there', () => requests.length === 2);
  });

  it('closes its connection after `closeAfter`', async () => {
    const { client, read, response } = await asked();
    setHead(response, 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n', 0);
    closeAfter(response);
    response.end();
    await eventually('it is closed', () => client.readableEnded);
    expect(read()).toBe('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
  });

  it('to the last allowed request is marked as such, until the mark is removed', async () => {
    server.maxRequestsPerSocket = 2;
    const { client, response } = await asked();
    expect(isLastAllowed(response)).toBe(false);
    response.end();
    client.write(GET);
    await eventually('the second is there', () => requests.length === 2);
    const last = requests[1]!.response;
    expect(isLastAllowed(last)).toBe(true);
    forgetLastAllowed(last);
    expect(isLastAllowed(last)).toBe(false);
  });
});

describe('the writes of a socket', () => {
  it('report their end to the wrapper, single ones and several at once', async () => {
    const { socket, client, read } = await asked();
    const ends: unknown[] = [];
    interceptWrites(socket, (done) => (error) => {
      ends.push(error ?? null);
      done(error);
    });
    socket.write('one ');
    await eventually('it is read', () => read() === 'one ');
    socket.cork();
    for (const word of ['two ', 'three ']) socket.write(word);
    socket.uncork();
    await eventually('they are read', () => read() === 'one two three ');
    expect(ends).toEqual([null, null]);
    client.resetAndDestroy();
    await closed(socket);
  });
});
