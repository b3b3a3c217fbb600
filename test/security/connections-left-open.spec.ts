/**
 * Attack: a client that gets the last response on a connection and does not close its side. The gateway closes both.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { send } from '../support/http.js';
import { seriesOf } from '../support/metrics-text.js';
import { eventually } from '../support/processes.js';
import { startProxied, type OwnProxied } from '../support/proxied.js';

let gateway: OwnProxied;
const sockets: Socket[] = [];

beforeAll(async () => {
  gateway = await startProxied({
    own: true,
    config: {
      operations: [{ match: 'GET /live/{room}', service: 'backend', scopes: ['customers:read'], websocket: true }],
    },
  });
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await gateway.stop();
});

const handshake =
  'GET /api/v1/live/a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
  'Sec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13\r\n\r\n';
const connections = async (): Promise<number> =>
  seriesOf((await send(`${gateway.trailgate.adminUrl}/metrics`)).text).get('trailgate_connections') ?? NaN;

const ENDS: readonly (readonly [string, string, number])[] = [
  ['what is not HTTP', 'GET / HTTP/9\r\n\r\n', 400],
  ['CONNECT', 'CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n', 400],
  ['a WebSocket without a key', handshake, 401],
  ['a WebSocket without a key, and more behind it', handshake + 'x'.repeat(100_000), 401],
  ['two hosts', 'GET /api/v1/open HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', 400],
  ['an upload that is refused', 'POST /api/v1/customers HTTP/1.1\r\nHost: a\r\nContent-Length: 900000\r\n\r\nab', 401],
  ['no more requests', 'GET /api/v1/open HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n', 401],
];

/** @returns the text received until the gateway closed its side. */
async function lastAnswer(bytes: string): Promise<string> {
  const socket = connect({ port: gateway.port, host: '127.0.0.1', allowHalfOpen: true }).setEncoding('latin1');
  sockets.push(socket);
  let text = '';
  socket.on('data', (data: string) => (text += data));
  socket.on('error', () => {});
  socket.write(bytes);
  await once(socket, 'end');
  return text;
}

it('the gateway closes connections whose client stays open after a final response', async () => {
  const texts = await Promise.all(ENDS.map(([, bytes]) => lastAnswer(bytes)));
  for (const [index, [what, , status]] of ENDS.entries()) {
    const [text = ''] = texts.slice(index);
    expect([what, text]).toEqual([what, expect.stringMatching(new RegExp(`^HTTP/1\\.1 ${status} [^]*\\}$`))]);
  }
  await eventually('it has let go of all', async () => (await connections()) === 0, 4_000);
});
