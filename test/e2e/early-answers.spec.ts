/**
 * A backend can respond before an upload has ended. The client gets the whole response, and no connection hangs. After
 * a 2xx response, the rest of the upload is still forwarded.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { startRawBackend, type RawBackend } from '../support/backend.js';
import { makeCertificate } from '../support/certificates.js';
import { describeWithOpenssl } from '../support/describe-with.js';
import { eventually, sleep, temporaryFolder } from '../support/processes.js';
import { quietMsSince } from '../support/machine-time.js';
import { startProxied, type Proxied } from '../support/proxied.js';

let gateway: Proxied;
let backend: RawBackend;
let answer: (socket: Socket, piece: Buffer) => unknown;

beforeAll(async () => {
  backend = await startRawBackend((socket) => socket.on('data', (piece: Buffer) => answer(socket, piece)));
  gateway = await startProxied({
    targets: backend.url,
    config: { services: { backend: { timeouts: { idle: '1s' } } } },
  });
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
] as const)('an early %i (%s) reaches a client that is still sending (%s)', async (status, code, framing) => {
  for (let time = 0; time < 5; time++) {
    early(status);
    const socket = connect(gateway.port, '127.0.0.1').setEncoding('latin1');
    socket.on('error', () => {});
    const length = framing === 'chunked' ? 'Transfer-Encoding: chunked' : 'Content-Length: 50000000';
    socket.write(
      `PUT /api/v1/files/a HTTP/1.1\r\nHost: a\r\nAuthorization: ${gateway.authorization}\r\n${length}\r\n\r\n`,
    );
    const piece = framing === 'chunked' ? `2000\r\n${'x'.repeat(0x2000)}\r\n` : 'x'.repeat(0x2000);
    // In every second round, the client sends everything before it reads the response, as many clients do.
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

const UPLOAD_BYTES = 1_000_000;
const PIECES = 10;

/** Behavior of a backend during an upload. It responds after `afterBytes`, and then keeps reading or closes. */
interface EarlyAnswer {
  readonly afterBytes: number;
  readonly bytes: string;
  readonly closes?: boolean;
}

/**
 * Makes the backend answer the next upload early. The returned function reports the body bytes that the backend has
 * received.
 */
function answerEarly({ afterBytes, bytes, closes = false }: EarlyAnswer): () => number {
  let received = -1;
  let answered = false;
  answer = (socket, piece) => {
    const headEnd = received === -1 ? piece.indexOf('\r\n\r\n') + 4 : 0;
    received += piece.length - headEnd + (received === -1 ? 1 : 0);
    if (answered || received < afterBytes) return;
    answered = true;
    if (closes) socket.end(bytes);
    else socket.write(bytes);
  };
  return () => received;
}

const SIZED = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}';
const EARLY: readonly (readonly [string, EarlyAnswer, number])[] = [
  ['at once', { afterBytes: 0, bytes: SIZED }, 200],
  [
    'at once, in chunks',
    { afterBytes: 0, bytes: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n' },
    200,
  ],
  [
    'in the middle',
    { afterBytes: UPLOAD_BYTES / 2, bytes: 'HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\n{}' },
    202,
  ],
  [
    'at once, to close later',
    { afterBytes: 0, bytes: SIZED.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n') },
    200,
  ],
];
const uploadLine = (id: string) => () => gateway.trailgate.logs().find(({ request_id }) => request_id === id);

describe('an upload whose backend answers 2xx early', () => {
  it.each(EARLY)('arrives whole over HTTP/1.1 and keeps its connection, answered %s', async (what, early, status) => {
    const received = answerEarly(early);
    const id = `h1-${what.replaceAll(/\W+/g, '-')}`;
    const socket = connect(gateway.port, '127.0.0.1').setEncoding('latin1');
    const head = `Host: a\r\nAuthorization: ${gateway.authorization}\r\nX-Request-Id: ${id}\r\n`;
    let text = '';
    socket.on('data', (data: string) => (text += data));
    socket.write(`PUT /api/v1/files/a HTTP/1.1\r\n${head}Content-Length: ${UPLOAD_BYTES}\r\n\r\n`);
    for (let piece = 0; piece < PIECES; piece++) {
      socket.write(Buffer.alloc(UPLOAD_BYTES / PIECES));
      await sleep(20);
      if (early.afterBytes === 0 && piece === PIECES / 2)
        await eventually('the response arrives', () => text.includes('{}'));
    }
    socket.write(`GET /api/v1/nowhere HTTP/1.1\r\n${head}Connection: close\r\n\r\n`);
    await once(socket, 'close');
    expect(received()).toBe(UPLOAD_BYTES);
    expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [^]*{}[^]*HTTP/1\\.1 404 `));
    await eventually('the upload is logged', () => uploadLine(id)() !== undefined);
    expect(uploadLine(id)()).toMatchObject({ status });
    expect(uploadLine(id)()).not.toHaveProperty('upload');
  });

  it('arrives whole with an Idempotency-Key, and its response is stored', async () => {
    const received = answerEarly({ afterBytes: 0, bytes: SIZED });
    const post = () =>
      gateway.send('/customers', {
        method: 'POST',
        headers: ['Idempotency-Key', 'early-1', 'Content-Type', 'application/json'],
        body: Buffer.alloc(UPLOAD_BYTES, ' '),
      });
    expect((await post()).status).toBe(200);
    expect(received()).toBe(UPLOAD_BYTES);
    const replayed = await post();
    expect([replayed.status, replayed.headers['idempotent-replayed'], received()]).toEqual([200, 'true', UPLOAD_BYTES]);
  });

  it('is logged as cut if the backend closes, and the client connection ends after the response', async () => {
    const received = answerEarly({ afterBytes: 0, bytes: SIZED, closes: true });
    const socket = connect({ port: gateway.port, host: '127.0.0.1' }).setEncoding('latin1');
    socket.on('error', () => undefined);
    let text = '';
    socket.on('data', (data: string) => (text += data));
    const head = `Host: a\r\nAuthorization: ${gateway.authorization}\r\nX-Request-Id: cut\r\n`;
    socket.write(`PUT /api/v1/files/a HTTP/1.1\r\n${head}Content-Length: ${UPLOAD_BYTES}\r\n\r\n`);
    socket.write(Buffer.alloc(1_000));
    await once(socket, 'close');
    expect(text).toMatch(/^HTTP\/1\.1 200 [^]*{}$/);
    expect(received()).toBeLessThan(UPLOAD_BYTES);
    await eventually('the upload is logged', () => uploadLine('cut')() !== undefined);
    expect(uploadLine('cut')()).toMatchObject({ status: 200, upload: 'cut' });
  });
});

describeWithOpenssl('an upload over HTTP/2 whose backend answers 2xx early', () => {
  let tls: Proxied;
  beforeAll(async () => {
    const { cert, key } = makeCertificate(temporaryFolder('early-answers'));
    tls = await startProxied({ targets: backend.url, config: { gateway: { tls: { cert, key } } } });
  });
  afterAll(() => tls?.stop());

  it.each(EARLY)('arrives whole, answered %s', async (_what, early, status) => {
    const received = answerEarly(early);
    const session = connectHttp2(tls.trailgate.gatewayUrl, { rejectUnauthorized: false });
    const stream = session.request({
      ':method': 'PUT',
      ':path': '/api/v1/files/a',
      authorization: tls.authorization,
      'content-length': UPLOAD_BYTES,
    });
    let receivedStatus = 0;
    let text = '';
    stream.setEncoding('latin1').on('data', (data: string) => (text += data));
    stream.on('response', (headers) => (receivedStatus = Number(headers[':status'])));
    for (let piece = 0; piece < PIECES; piece++) {
      stream.write(Buffer.alloc(UPLOAD_BYTES / PIECES));
      await sleep(20);
      if (early.afterBytes === 0 && piece === PIECES / 2) await eventually('the response arrives', () => text === '{}');
    }
    stream.end();
    await once(stream, 'close');
    session.destroy();
    expect([receivedStatus, text, stream.rstCode]).toEqual([status, '{}', 0]);
    expect(received()).toBe(UPLOAD_BYTES);
  });
});

it('an early 200 reaches the client, and its connection serves the next request after the upload', async () => {
  early(200);
  const socket = connect(gateway.port, '127.0.0.1').setEncoding('latin1');
  const head = `Host: a\r\nAuthorization: ${gateway.authorization}\r\n`;
  socket.write(`PUT /api/v1/files/a HTTP/1.1\r\n${head}Content-Length: 5000000\r\n\r\nfirst`);
  let text = '';
  socket.on('data', (data: string) => (text += data));
  await eventually('the response arrives', () => /^HTTP\/1\.1 200 [^]*Too much for us/.test(text));
  socket.write(Buffer.alloc(5_000_000 - 'first'.length));
  socket.write(`GET /api/v1/nowhere HTTP/1.1\r\n${head}Connection: close\r\n\r\n`);
  await once(socket, 'close');
  expect(text).toMatch(/route_not_found"[^}]*}$/);
});

it('an upload that stalls after its response is cut off', async () => {
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
