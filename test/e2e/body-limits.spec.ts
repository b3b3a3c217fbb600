/** A body that is too large is refused before it does harm, and its connection is never misread afterward. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { json } from '../support/backend.js';
import { quietMsSince } from '../support/machine-time.js';
import { expectProblem, parseAnswer } from '../support/problem.js';
import { startProxied, type Proxied } from '../support/proxied.js';

const LIMIT = 10_000;

let gateway: Proxied;
let head: string;

beforeAll(async () => {
  gateway = await startProxied({ config: { services: { backend: { maxBodyBytes: LIMIT } } } });
  head = `Host: a\r\nAuthorization: ${gateway.authorization}\r\n`;
});
afterAll(() => gateway.stop());
beforeEach(() => gateway.answerWith(json({ ok: true })));

/** Returns the statuses of all responses in the text. */
const statuses = (text: string): string[] => [...text.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => status ?? '');

describe('a request body', () => {
  it('above the limit is refused by its Content-Length before the backend gets a request', async () => {
    const refused = await gateway.send('/customers', { method: 'POST', body: Buffer.alloc(LIMIT + 1) });
    expect(expectProblem(refused, 'content_too_large').detail).toContain(String(LIMIT));
    expect(gateway.backend.requests).toHaveLength(0);
  });

  it('above the limit is refused midstream if it is chunked, and the backend never receives its end', async () => {
    const body = Readable.from([Buffer.alloc(LIMIT), Buffer.alloc(1), Buffer.alloc(1)]);
    expectProblem(await gateway.send('/customers', { method: 'POST', body }), 'content_too_large');
    for (const received of gateway.backend.requests) {
      expect(received.bodyBytes).toBeLessThanOrEqual(LIMIT);
      expect(received.bodySha256).toBeUndefined();
    }
  });

  it('of exactly the limit passes, with Content-Length or chunked', async () => {
    for (const body of [Buffer.alloc(LIMIT), Readable.from([Buffer.alloc(LIMIT / 2), Buffer.alloc(LIMIT / 2)])]) {
      expect((await gateway.send('/customers', { method: 'POST', body })).status).toBe(200);
      expect(gateway.backend.requests.at(-1)?.bodyBytes).toBe(LIMIT);
    }
  });

  it.each([
    [
      'its length says so',
      (): string => `POST /api/v1/customers HTTP/1.1\r\n${head}Content-Length: 20000000\r\n\r\n`,
      413,
    ],
    [
      'the key is none',
      (): string =>
        'POST /api/v1/customers HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer x\r\nContent-Length: 20000000\r\n\r\n',
      401,
    ],
    ['the path is none', (): string => `POST /api/v1/nowhere HTTP/1.1\r\n${head}Content-Length: 20000000\r\n\r\n`, 404],
    [
      'its first chunk says so',
      (): string => `POST /api/v1/customers HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\n1312D00\r\n`,
      413,
    ],
  ])('has its refusal delivered even if the client sends it all before reading: %s', async (_why, start, status) => {
    for (let time = 0; time < 4; time++) {
      const socket = connect(gateway.port, '127.0.0.1').setEncoding('latin1');
      socket.on('error', () => {});
      socket.write(start());
      socket.write(Buffer.alloc(20_000_000));
      let text = '';
      socket.on('data', (data: string) => (text += data));
      // Does not use `once()`, which rejects when a write fails because the gateway has closed. That error is expected
      // here.
      await new Promise((closed) => socket.on('close', closed));
      expect(parseAnswer(text)).toMatchObject({ status, headers: { connection: 'close' } });
      expect(JSON.parse(parseAnswer(text).text)).toMatchObject({ status });
    }
  });
});

describe('a connection with request bodies', () => {
  const smuggled = (): string => `GET /api/v1/open?smuggled HTTP/1.1\r\n${head}\r\n`;

  it.each<[string, () => string, string]>([
    [
      'too large, by its length',
      () =>
        `POST /api/v1/customers HTTP/1.1\r\n${head}Content-Length: ${LIMIT + 1}\r\n\r\n${smuggled().padEnd(LIMIT + 1)}`,
      '413',
    ],
    [
      'too large, half of it sent',
      () => `POST /api/v1/customers HTTP/1.1\r\n${head}Content-Length: ${LIMIT + 1}\r\n\r\n${smuggled()}`,
      '413',
    ],
    [
      'no key',
      () => `POST /api/v1/customers HTTP/1.1\r\nHost: a\r\nContent-Length: ${smuggled().length}\r\n\r\n${smuggled()}`,
      '401',
    ],
    [
      'no such path',
      () => `POST /api/v1/x HTTP/1.1\r\n${head}Content-Length: ${smuggled().length}\r\n\r\n${smuggled()}`,
      '404',
    ],
    [
      'no such method',
      () => `DELETE /api/v1/open HTTP/1.1\r\n${head}Content-Length: ${smuggled().length}\r\n\r\n${smuggled()}`,
      '405',
    ],
    [
      'chunked, no key',
      () =>
        `POST /api/v1/customers HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${smuggled().length.toString(16)}\r\n${smuggled()}\r\n0\r\n\r\n`,
      '401',
    ],
    [
      'a broken Host',
      () => `POST /api/v1/customers HTTP/1.1\r\nHost: a b\r\nContent-Length: ${smuggled().length}\r\n\r\n${smuggled()}`,
      '400',
    ],
    [
      'a body nobody asked for, on our own path',
      () => `GET /api/v1/nowhere HTTP/1.1\r\n${head}Content-Length: ${smuggled().length}\r\n\r\n${smuggled()}`,
      '404',
    ],
  ])('never parses a refused body as a request: %s', async (_why, bytes, status) => {
    const text = await gateway.raw(bytes(), 400, 1);
    expect(statuses(text)).toEqual([status]);
    expect(gateway.backend.requests).toHaveLength(0);
  });

  it.each([
    ['401', 'POST /api/v1/customers HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n'],
    ['401', 'POST /api/v1/customers HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc'],
    ['400', 'GET /api/v1/open HTTP/1.1\r\nHost: a b\r\n\r\n'],
  ])('serves nothing after a %s that closes it', async (status, first) => {
    // Opens a backend connection first. With an idle one, a following request would reach the backend before the close.
    await gateway.send('/open');
    gateway.backend.requests.length = 0;
    const text = await gateway.raw(`${first}${smuggled()}${smuggled()}`, 400, 1);
    expect(statuses(text)).toEqual([status]);
    expect(text).toMatch(/\r\nConnection: close\r\n/i);
    expect(gateway.backend.requests).toHaveLength(0);
  });

  it.each([
    ['no key', 'POST /api/v1/customers HTTP/1.1\r\nHost: a\r\n', '401'],
    ['no such path', 'POST /api/v1/nowhere HTTP/1.1\r\nHost: a\r\n', '404'],
    ['no such method', 'PATCH /api/v1/open HTTP/1.1\r\nHost: a\r\n', '405'],
  ])('serves the next request after discarding a refused body of 64 KiB: %s', async (_why, start, status) => {
    await gateway.send('/open');
    gateway.backend.requests.length = 0;
    const length = 64 * 1024;
    const refused = `${start}Content-Length: ${length}\r\n\r\n${smuggled().padEnd(length, 'x')}`;
    const text = await gateway.raw(`${refused}${refused}GET /api/v1/open HTTP/1.1\r\n${head}\r\n`, 400, 3);
    expect(statuses(text)).toEqual([status, status, '200']);
    expect(text).not.toMatch(/Connection: close/i);
    expect(gateway.backend.requests.map(({ url }) => url)).toEqual(['/open']);
  });

  it('is closed within 4 seconds if a refused body does not arrive', async () => {
    const startedMs = performance.now();
    const text = await gateway.raw(
      'POST /api/v1/customers HTTP/1.1\r\nHost: a\r\nContent-Length: 30\r\n\r\nabc',
      6_000,
    );
    expect(statuses(text)).toEqual(['401']);
    expect(quietMsSince(startedMs)).toBeLessThan(4_000);
  });

  it('forwards many pipelined requests with accepted bodies as they were sent', async () => {
    const count = 50;
    const requests = Array.from(
      { length: count },
      (_, index) =>
        `POST /api/v1/customers?${index} HTTP/1.1\r\n${head}Content-Length: 4\r\n\r\nGET GET /api/v1/open?${index} HTTP/1.1\r\n${head}\r\n`,
    );
    const text = await gateway.raw(requests.join(''), 800, 2 * count);
    expect(statuses(text)).toEqual(Array.from({ length: 2 * count }, () => '200'));
    // The requests run concurrently on several backend connections.
    const seen = gateway.backend.requests.map(({ method, url }) => `${method} ${url}`);
    const sent = Array.from({ length: count }, (_, index) => [`POST /customers?${index}`, `GET /open?${index}`]).flat();
    expect(seen.toSorted()).toEqual(sent.toSorted());
  });
});
