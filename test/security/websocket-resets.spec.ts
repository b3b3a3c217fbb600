/**
 * Attack: a client resets its connection in each phase of a WebSocket, or sends a handshake behind a pending request.
 * That ends only this WebSocket.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { connect, type Socket } from 'node:net';
import { startRawBackend, type RawBackend } from '../support/backend.js';
import { eventually, sleep } from '../support/processes.js';
import { startProxied, type Proxied } from '../support/proxied.js';

const AGREED = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n';

let backend: RawBackend;
let gateway: Proxied;
let onHandshake: (socket: Socket) => void = () => undefined;
const atBackend: Socket[] = [];

beforeAll(async () => {
  backend = await startRawBackend((socket) => {
    socket.once('data', (data: Buffer) => {
      if (data.includes('GET /open')) {
        socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok');
        return;
      }
      atBackend.push(socket);
      onHandshake(socket);
    });
  });
  gateway = await startProxied({
    targets: backend.url,
    config: {
      services: { backend: { timeouts: { firstByte: '1s' } } },
      operations: [{ match: 'GET /live/{room}', service: 'backend', scopes: ['customers:read'], websocket: true }],
    },
  });
});
afterAll(async () => {
  await gateway.stop();
  await backend.stop();
});

const inFlight = async (): Promise<number> => {
  const { data } = await gateway.trailgate.admin.call<{ data: { in_flight: number }[] }>('GET', '/targets');
  return data.reduce((sum, target) => sum + target.in_flight, 0);
};

it.each<[string, (socket: Socket) => void, number]>([
  ['while the backend is silent', () => undefined, 100],
  ['as soon as it has asked', () => undefined, 0],
  ['when it is open', (socket) => socket.write(AGREED), 100],
  [
    'while the backend sends as fast as it can',
    (socket) => {
      socket.write(AGREED);
      const timer = setInterval(() => socket.write(Buffer.alloc(200_000)), 5);
      socket.on('close', () => clearInterval(timer));
    },
    150,
  ],
  ['when the backend has refused', (socket) => socket.end('HTTP/1.1 409 Conflict\r\nContent-Length: 0\r\n\r\n'), 5],
  ['when the backend has reset its own', (socket) => socket.write(AGREED, () => socket.resetAndDestroy()), 5],
])('a WebSocket reset %s leaves nothing in flight and crashes nothing', async (_when, handshake, afterMs) => {
  onHandshake = handshake;
  atBackend.length = 0;
  const clients = Array.from({ length: 8 }, (_, index) => {
    const socket = connect(gateway.port, '127.0.0.1').on('error', () => {});
    // Every second client does not read.
    if (index % 2 === 0) socket.resume();
    socket.write(
      `GET /api/v1/live/a HTTP/1.1\r\nHost: a\r\nAuthorization: ${gateway.authorization}\r\nConnection: Upgrade\r\n` +
        'Upgrade: websocket\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13\r\n\r\n',
    );
    return socket;
  });
  if (afterMs > 0) await eventually('the backend has them', () => atBackend.length === clients.length);
  await sleep(afterMs);
  for (const socket of clients) socket.resetAndDestroy();
  await eventually('the backend sees their end', () => atBackend.every((socket) => socket.destroyed));
  expect((await gateway.send('/open')).status).toBe(200);
  await eventually('nothing is left of them', async () => (await inFlight()) === 0);
  expect(gateway.trailgate.logs().filter(({ event }) => event === 'crash' || event === 'internal_error')).toEqual([]);
});

it('a handshake behind a pending request is served as a plain request', async () => {
  onHandshake = (socket) => void setTimeout(() => socket.end('HTTP/1.1 204 No Content\r\n\r\n'), 50);
  const fields = `Host: a\r\nAuthorization: ${gateway.authorization}\r\n`;
  const handshake =
    'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13\r\n';
  const requests = ['', handshake].map((more) => `GET /api/v1/live/a HTTP/1.1\r\n${fields}${more}\r\n`);
  const answers = await gateway.raw(requests.join(''), 300);
  expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 204', 'HTTP/1.1 204']);
  expect(gateway.trailgate.logs().filter(({ event }) => event === 'crash' || event === 'internal_error')).toEqual([]);
});
