/** A backend may answer before an upload has ended: the client gets that answer whole, and no connection is left hanging. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { startRawBackend, type RawBackend } from '../support/backend.js';
import { quietMsSince } from '../support/machine-time.js';
import { startProxied, type Proxied } from '../support/proxied.js';

let gateway: Proxied;
let backend: RawBackend;
let answer: (socket: Socket) => unknown;

beforeAll(async () => {
  backend = await startRawBackend((socket) => socket.on('data', () => answer(socket)));
  gateway = await startProxied({ targets: backend.url });
});
afterAll(async () => {
  await gateway.stop();
  await backend.stop();
});

const early = (status: number): void => {
  const body = JSON.stringify({ message: 'Too much for us.' });
  let answered = false;
  answer = (socket) => {
    if (answered) return;
    answered = true;
    socket.write(
      `HTTP/1.1 ${status} X\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
    );
  };
};

it.each([
  [413, 'content_too_large', 'with a Content-Length'],
  [422, 'validation_failed', 'with a Content-Length'],
  [413, 'content_too_large', 'chunked'],
  [422, 'validation_failed', 'chunked'],
] as const)('a %i (%s) reaches a client that is still sending whole (%s)', async (status, code, framing) => {
  for (let time = 0; time < 5; time++) {
    early(status);
    const socket = connect(gateway.port, '127.0.0.1').setEncoding('latin1');
    socket.on('error', () => {});
    const length = framing === 'chunked' ? 'Transfer-Encoding: chunked' : 'Content-Length: 50000000';
    socket.write(
      `PUT /api/v1/files/a HTTP/1.1\r\nHost: a\r\nAuthorization: ${gateway.authorization}\r\n${length}\r\n\r\n`,
    );
    const piece = framing === 'chunked' ? `2000\r\n${'x'.repeat(0x2000)}\r\n` : 'x'.repeat(0x2000);
    // A client that sends what it has before it looks for an answer, as many do.
    if (time % 2 === 1) for (let index = 0; index < 2_000; index++) socket.write(piece);
    const sending = setInterval(() => socket.writable && socket.write(piece), 1);
    let text = '';
    socket.on('data', (data: string) => (text += data));
    await once(socket, 'close');
    clearInterval(sending);
    expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    const problem = JSON.parse(text.slice(text.indexOf('\r\n\r\n'))) as { code: string };
    expect(problem).toMatchObject({ code, detail: 'Too much for us.' });
  }
});

it('a 200 reaches it as well; the connection goes on behind an upload that ends soon', async () => {
  early(200);
  const socket = connect(gateway.port, '127.0.0.1').setEncoding('latin1');
  const head = `Host: a\r\nAuthorization: ${gateway.authorization}\r\n`;
  socket.write(`PUT /api/v1/files/a HTTP/1.1\r\n${head}Content-Length: 5000000\r\n\r\nfirst`);
  let text = '';
  socket.on('data', (data: string) => (text += data));
  await once(socket, 'data');
  expect(text).toMatch(/^HTTP\/1\.1 200 [^]*Too much for us/);
  socket.write(Buffer.alloc(5_000_000 - 'first'.length));
  socket.write(`GET /api/v1/nowhere HTTP/1.1\r\n${head}Connection: close\r\n\r\n`);
  await once(socket, 'close');
  expect(text).toMatch(/route_not_found"[^}]*}$/);
});

it('an upload that never ends behind its answer is cut', async () => {
  early(200);
  const socket = connect(gateway.port, '127.0.0.1').setEncoding('latin1');
  let text = '';
  socket.on('data', (data: string) => (text += data));
  socket.write(
    `PUT /api/v1/files/a HTTP/1.1\r\nHost: a\r\nAuthorization: ${gateway.authorization}\r\nContent-Length: 500\r\n\r\nfirst`,
  );
  const startedMs = performance.now();
  await once(socket, 'close');
  expect(text).toMatch(/^HTTP\/1\.1 200 /);
  expect(quietMsSince(startedMs)).toBeLessThan(4_000);
});
