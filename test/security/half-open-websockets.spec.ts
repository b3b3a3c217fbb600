/** Attack: clients that never close their side of refused or ended WebSockets, to use up the connections. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startRawBackend, type RawBackend } from '../support/backend.js';
import { send } from '../support/http.js';
import { seriesOf } from '../support/metrics-text.js';
import { eventually } from '../support/processes.js';
import { startProxied, type OwnProxied } from '../support/proxied.js';

const ATTACKERS = 50;
/** The gateway gives clients two seconds to close. A busy machine may need as long again. */
const LONGEST_MS = 4_000;
const AGREED =
  'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
  'Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\nbye';

let backend: RawBackend;
let gateway: OwnProxied;
const sockets: Socket[] = [];

beforeAll(async () => {
  // Accepts handshakes, and closes at once.
  backend = await startRawBackend((socket) => {
    socket.once('data', (data: Buffer) => {
      const isHandshake = /upgrade: websocket/i.test(data.toString('latin1'));
      socket.end(isHandshake ? AGREED : 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
    });
  });
  const live = { match: 'GET /live/{room}', service: 'backend', scopes: ['customers:read'], websocket: true };
  gateway = await startProxied({ own: true, targets: backend.url, config: { operations: [live] } });
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await gateway.stop();
  await backend.stop();
});

const connections = async (): Promise<number> =>
  seriesOf((await send(`${gateway.trailgate.adminUrl}/metrics`)).text).get('trailgate_connections') ?? -1;

/** Returns the bytes until the other side has ended. Nothing is closed. */
async function handshake(fields: string): Promise<string> {
  const socket = connect({ port: gateway.port, host: '127.0.0.1', allowHalfOpen: true });
  sockets.push(socket);
  socket.on('error', () => undefined);
  let text = '';
  socket.setEncoding('latin1').on('data', (data: string) => (text += data));
  socket.write(
    'GET /api/v1/live/a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
      `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n${fields}\r\n`,
  );
  await once(socket, 'end');
  return text;
}

it.each([
  ['was refused', () => '', /^HTTP\/1\.1 401 [^]*missing_api_key/],
  ['has ended', () => `Authorization: ${gateway.authorization}\r\n`, /^HTTP\/1\.1 101 [^]*bye$/],
])('the connection of a WebSocket that %s is closed within four seconds', async (_what, fields, expected) => {
  const answers = Array.from({ length: ATTACKERS }, () => handshake(fields()));
  for (const text of await Promise.all(answers)) expect(text).toMatch(expected);
  await eventually('they are gone', async () => (await connections()) === 0, LONGEST_MS);
  expect(sockets.every((socket) => socket.writable)).toBe(true);
  expect((await gateway.send('/customers')).status).toBe(200);
});
