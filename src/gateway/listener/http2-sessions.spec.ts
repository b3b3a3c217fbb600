/** Idle HTTP/2 connections, over real sockets with short timeouts. */
import { once } from 'node:events';
import { createServer as createHttp2Server, type Http2Server, type ServerHttp2Stream } from 'node:http2';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import {
  END_HEADERS,
  END_STREAM,
  fieldBlock,
  frame,
  FRAME,
  speakRawHttp2,
  type RawHttp2,
} from '../../../test/support/raw-http2.js';
import { Http2Sessions } from './http2-sessions.js';

const IDLE_MS = 100;
const SWEEP_INTERVAL_MS = 30;
const GET = fieldBlock([
  [':method', 'GET'],
  [':scheme', 'https'],
  [':path', '/'],
  [':authority', 'a'],
]);

let sessions: Http2Sessions;
let http2: Http2Server;
let server: Server;
let raw: RawHttp2;
let accepted: Socket;

beforeEach(async () => {
  sessions = new Http2Sessions(IDLE_MS, () => 60_000, SWEEP_INTERVAL_MS);
  http2 = createHttp2Server();
  http2.on('session', (session) => sessions.add(session, accepted));
  http2.on('stream', (stream: ServerHttp2Stream) => stream.respond({ ':status': 200 }));
  server = createServer({ allowHalfOpen: true }, (socket) => {
    accepted = socket;
    http2.emit('connection', socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen: true });
  await once(client, 'connect');
  raw = speakRawHttp2(client);
});
afterEach(() => {
  sessions.stop();
  raw.socket.destroy();
  accepted.destroy();
  server.close();
});

it('closes an idle connection despite pings, even if the client does not close it', async () => {
  const ping = setInterval(() => raw.send(frame(FRAME.ping, 0, 0, Buffer.alloc(8))), 20);
  await once(accepted, 'close');
  clearInterval(ping);
  expect(raw.frames.some(({ type }) => type === FRAME.goAway)).toBe(true);
});

it('does not close a connection while a request is in progress', async () => {
  raw.send(frame(FRAME.headers, END_HEADERS | END_STREAM, 1, GET));
  await new Promise((resolve) => setTimeout(resolve, 2 * IDLE_MS + 3 * SWEEP_INTERVAL_MS));
  expect(accepted.destroyed).toBe(false);
  expect(raw.frames.some(({ type }) => type === FRAME.goAway)).toBe(false);
});
