/** An upload can take any time while it makes progress. Stalled uploads and unread bodies end soon. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { connect, type Socket } from 'node:net';
import { quietMsSince } from '../support/machine-time.js';
import { parseAnswer } from '../support/problem.js';
import { startProxied, type Proxied } from '../support/proxied.js';

type Name = 'steady' | 'still' | 'usage' | 'nowhere';

let gateway: Proxied;
/** Uploads of all tests. They run in parallel, because each lasts for seconds. */
let uploads: Record<Name, ReturnType<typeof trickle>>;

beforeAll(async () => {
  const timeouts = { connect: '300ms', firstByte: '500ms', idle: '600ms' };
  gateway = await startProxied({ config: { services: { backend: { timeouts } } } });
  uploads = {
    steady: trickle('PUT /api/v1/files/a HTTP/1.1', 20, 200),
    still: trickle('PUT /api/v1/files/b HTTP/1.1', 20, 5_000),
    usage: trickle('GET /api/v1/usage HTTP/1.1', 1_000, 200),
    nowhere: trickle('GET /api/v1/nowhere HTTP/1.1', 1_000, 200),
  };
});
afterAll(() => gateway.stop());

/**
 * Sends the head, and then `bytes` bytes, one every `everyMs`. Returns the response and the lifetime of the connection.
 */
async function trickle(
  head: string,
  bytes: number,
  everyMs: number,
): Promise<{ text: string; durationMs: number; quietMs: number; sent: number }> {
  const startedMs = performance.now();
  const socket: Socket = connect(gateway.port, '127.0.0.1').setEncoding('latin1');
  socket.on('error', () => {});
  socket.write(`${head}\r\nHost: a\r\nAuthorization: ${gateway.authorization}\r\nContent-Length: ${bytes}\r\n\r\n`);
  let text = '';
  let sent = 0;
  socket.on('data', (data: string) => {
    text += data;
    if (sent === bytes) socket.end();
  });
  const timer = setInterval(() => {
    if (sent < bytes && socket.writable) socket.write('x', () => sent++);
  }, everyMs);
  // Does not use `once()`, which rejects when a write fails because the gateway has closed. That error is expected
  // here.
  await new Promise((closed) => socket.on('close', closed));
  clearInterval(timer);
  return { text, durationMs: performance.now() - startedMs, quietMs: quietMsSince(startedMs), sent };
}

it('an upload that sends a byte now and then arrives complete, although it outlasts every timeout', async () => {
  const { text, durationMs } = await uploads.steady;
  expect(parseAnswer(text).status).toBe(200);
  expect(durationMs).toBeGreaterThan(3_500);
  expect(gateway.backend.requests.find(({ url }) => url === '/files/a')).toMatchObject({ bodyBytes: 20 });
});

it('an upload that stalls is ended with 408 by the timeout of its service', async () => {
  const { text, quietMs } = await uploads.still;
  expect(parseAnswer(text).status).toBe(408);
  expect(quietMs).toBeLessThan(4_500);
});

it.each<[string, Name, number]>([
  ['of an answer of our own', 'usage', 200],
  ['of a refused request', 'nowhere', 404],
])('an unread body %s that trickles in does not keep its connection open', async (_what, name, status) => {
  const { text, quietMs, sent } = await uploads[name];
  expect(parseAnswer(text).status).toBe(status);
  expect(quietMs).toBeLessThan(4_500);
  expect(sent).toBeLessThan(30);
});
