/** A faulty backend causes a problem document or an aborted connection, never a response that looks complete. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { startRawBackend, type RawBackend } from '../support/backend.js';
import { quietMsSince } from '../support/machine-time.js';
import { expectProblem } from '../support/problem.js';
import { eventually, freePort } from '../support/processes.js';
import { startProxied, type Proxied } from '../support/proxied.js';

const CONNECT_MS = 300;
const FIRST_BYTE_MS = 400;
const IDLE_MS = 400;
/** Tolerance of timeouts on a busy machine, in milliseconds. */
const SLACK_MS = 900;

const SECRET = 'postgres://app:hunter2@10.0.0.5/prod';

let gateway: Proxied;
let backend: RawBackend;
/** Handler of the raw backend. Gets the connection, and everything that arrived with the request head. */
let answer: (socket: Socket, received: string) => unknown;

beforeAll(async () => {
  backend = await startRawBackend((socket) => {
    socket.on('data', (bytes) => {
      const text = bytes.toString('latin1');
      if (text.includes('\r\n\r\n')) answer(socket, text);
    });
  });
  const timeouts = { connect: `${CONNECT_MS}ms`, firstByte: `${FIRST_BYTE_MS}ms`, idle: `${IDLE_MS}ms` };
  gateway = await startProxied({
    targets: backend.url,
    config: {
      services: {
        backend: { timeouts },
        refusing: { targets: [`http://127.0.0.1:${await freePort()}`] },
        // No host answers in this block (RFC 5737). Connections time out, or fail at once if there is no route.
        unroutable: { targets: ['http://192.0.2.1:81'], timeouts },
        authenticating: { targets: [backend.url], authenticates: true },
      },
      operations: [
        { match: 'GET /refusing', service: 'refusing', scopes: [] },
        { match: 'POST /refusing', service: 'refusing', scopes: [] },
        { match: 'GET /unroutable', service: 'unroutable', scopes: [] },
        { match: 'GET /authenticating', service: 'authenticating', scopes: [] },
      ],
    },
  });
});
afterAll(async () => {
  await gateway.stop();
  await backend.stop();
});
beforeEach(() => {
  answer = (socket) => socket.destroy();
});

/** Makes the backend send this response. The backend then closes the connection, unless `then` does something else. */
function answers(
  head: string,
  body: string | Buffer = '',
  then: (socket: Socket) => unknown = (socket) => socket.end(),
): void {
  answer = (socket) => {
    socket.write(`${head}\r\n\r\n`, 'latin1');
    socket.write(body);
    then(socket);
  };
}

const json = (status: number, value: unknown, more = ''): void => {
  const body = Buffer.from(JSON.stringify(value));
  answers(`HTTP/1.1 ${status} X\r\nContent-Type: application/json\r\nContent-Length: ${body.length}${more}`, body);
};

async function timed<T>(work: Promise<T>): Promise<[T, number, number]> {
  const startedMs = performance.now();
  const result = await work;
  return [result, performance.now() - startedMs, quietMsSince(startedMs)];
}

describe('without a response', () => {
  it.each(['GET', 'POST'])('a backend that refuses the connection is 502 backend_unreachable (%s)', async (method) => {
    expectProblem(
      await gateway.send('/refusing', { method, ...(method === 'POST' ? { body: '{}' } : {}) }),
      'backend_unreachable',
    );
  });

  it('a backend that never accepts the connection fails within the connect and first-byte timeouts', async () => {
    const [refused, , quietMs] = await timed(gateway.send('/unroutable'));
    expect([502, 504]).toContain(refused.status);
    expectProblem(refused, refused.status === 504 ? 'backend_timeout' : 'backend_unreachable');
    expect(quietMs).toBeLessThan(CONNECT_MS + FIRST_BYTE_MS + SLACK_MS);
  });

  it('a backend that hangs is 504 backend_timeout after the first-byte timeout', async () => {
    answer = () => {};
    const [refused, durationMs, quietMs] = await timed(gateway.send('/open'));
    expectProblem(refused, 'backend_timeout');
    expect(durationMs).toBeGreaterThanOrEqual(FIRST_BYTE_MS - 1);
    expect(quietMs).toBeLessThan(FIRST_BYTE_MS + SLACK_MS);
  });

  it('the first-byte timeout begins only when the request has been sent', async () => {
    answer = (socket, received) => {
      if (received.endsWith('0\r\n\r\n')) socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    };
    async function* slowly(): AsyncGenerator<Buffer> {
      for (let index = 0; index < 4; index++) {
        yield Buffer.from('x');
        await new Promise((done) => setTimeout(done, FIRST_BYTE_MS / 2));
      }
    }
    const uploaded = await gateway.send('/files/a', { method: 'PUT', body: Readable.from(slowly()) });
    expect(uploaded.status).toBe(200);
  });

  it('a backend that stops reading an upload causes a 504', async () => {
    answer = (socket) => void socket.pause();
    const [refused] = await timed(gateway.send('/files/a', { method: 'PUT', body: Buffer.alloc(64 * 1024 * 1024) }));
    expectProblem(refused, 'backend_timeout');
  });

  it('a client that stops sending an upload gets a 408 and a closed connection', async () => {
    answer = () => {};
    const socket = connect(gateway.port, '127.0.0.1').setEncoding('latin1');
    socket.write(
      `PUT /api/v1/files/a HTTP/1.1\r\nHost: a\r\nAuthorization: ${gateway.authorization}\r\nContent-Length: 100\r\n\r\nhalf`,
    );
    const [text] = (await once(socket, 'data')) as [string];
    socket.destroy();
    expect(text).toMatch(/^HTTP\/1\.1 408 [^]*"code":"request_timeout"/);
    expect(text).toMatch(/\r\nConnection: close\r\n/i);
  });
});

describe('an invalid response', () => {
  it.each<[string, (socket: Socket) => unknown]>([
    ['closed without a byte', (socket) => socket.end()],
    ['reset without a byte', (socket) => socket.resetAndDestroy()],
    ['garbage', (socket) => socket.end('\0\x01garbage\r\n\r\n')],
    ['another protocol', (socket) => socket.end('SSH-2.0-OpenSSH_9.2p1\r\n')],
    ['a head that ends too early', (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n')],
    ['a status that is none', (socket) => socket.end('HTTP/1.1 20x OK\r\n\r\n')],
    ['no HTTP version', (socket) => socket.end('200 OK\r\n\r\n')],
    ['a Content-Length that is none', (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\nok')],
    [
      'two Content-Lengths',
      (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok'),
    ],
    [
      'Content-Length and Transfer-Encoding',
      (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'),
    ],
    ['a head of 100 KiB', (socket) => socket.end(`HTTP/1.1 200 OK\r\nX: ${'x'.repeat(100 * 1024)}\r\n\r\n`)],
    ['control characters in a field', (socket) => socket.end('HTTP/1.1 204 No\r\nX: a\x01b\r\n\r\n')],
    [
      'a protocol that nobody asked for',
      (socket) => socket.write('HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n'),
    ],
    ['a small body that breaks off', (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n')],
  ])('is 502 backend_bad_response: %s', async (_what, act) => {
    answer = act;
    const refused = await gateway.send('/open');
    expectProblem(refused, 'backend_bad_response');
    expect(refused.json()['detail']).not.toMatch(/garbage|SSH|127\.0\.0\.1|\d{4}/);
  });

  it('is logged as a failure without the bytes that could not be parsed', async () => {
    answer = (socket) => socket.end(`HTTP/1.1 200 OK\r\nX-A: \x01${SECRET}\r\n\r\n`);
    const { 'x-request-id': id } = (await gateway.send('/open')).headers;
    const logged = () => gateway.trailgate.logs().filter((line) => line['request_id'] === id);
    await eventually('the request is logged', () => logged().some(({ event }) => event === 'request'));
    expect(logged().some(({ event }) => event === 'request_failed')).toBe(true);
    expect(JSON.stringify(gateway.trailgate.logs())).not.toContain('hunter2');
  });

  it('is 502 backend_bad_response if an error body breaks off', async () => {
    answers('HTTP/1.1 422 X\r\nContent-Type: application/json\r\nContent-Length: 100', '{"message": "hal');
    expectProblem(await gateway.send('/open'), 'backend_bad_response');
  });

  it('is 504 backend_timeout if an error body stalls', async () => {
    answers('HTTP/1.1 422 X\r\nContent-Type: application/json\r\nContent-Length: 100', '{"message": "hal', () => {});
    expectProblem(await gateway.send('/open'), 'backend_timeout');
  });
});

describe('a response that breaks off', () => {
  const half = Buffer.alloc(20_000, 'x');
  const length = 'HTTP/1.1 200 OK\r\nContent-Length: 40000';
  const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked';
  const chunk = Buffer.concat([Buffer.from(`${half.length.toString(16)}\r\n`), half, Buffer.from('\r\n')]);

  it.each<[string, string, Buffer, (socket: Socket) => unknown]>([
    ['reset, Content-Length', length, half, (socket) => setTimeout(() => socket.resetAndDestroy(), 50)],
    ['closed, Content-Length', length, half, (socket) => socket.end()],
    ['silent, Content-Length', length, half, () => {}],
    ['reset, chunked', chunked, chunk, (socket) => setTimeout(() => socket.resetAndDestroy(), 50)],
    ['closed, chunked', chunked, chunk, (socket) => socket.end()],
    ['closed inside a chunk', chunked, chunk.subarray(0, 10_000), (socket) => socket.end()],
    ['garbage after a chunk', chunked, Buffer.concat([chunk, Buffer.from('garbage\r\n')]), () => {}],
    ['silent, chunked', chunked, chunk, () => {}],
    ['reset, without a length', 'HTTP/1.1 200 OK', half, (socket) => setTimeout(() => socket.resetAndDestroy(), 50)],
  ])('aborts the client connection without a regular end: %s', async (_what, head, body, then) => {
    answers(head, body, then);
    const [text, , quietMs] = await timed(
      gateway.raw(`GET /api/v1/open HTTP/1.1\r\nHost: a\r\nAuthorization: ${gateway.authorization}\r\n\r\n`, 5_000),
    );
    expect(text).toMatch(/^HTTP\/1\.1 200 /);
    expect(text.length).toBeLessThan(25_000);
    expect(text.endsWith('0\r\n\r\n')).toBe(false);
    expect(quietMs).toBeLessThan(IDLE_MS + SLACK_MS);
    await expect(gateway.send('/open')).rejects.toThrow(/aborted|ECONNRESET|socket hang up/);
  });

  it('resets the connection of an HTTP/1.0 client', async () => {
    answers(chunked, chunk, (socket) => setTimeout(() => socket.resetAndDestroy(), 50));
    const socket = connect(gateway.port, '127.0.0.1');
    let received = 0;
    socket.on('data', (data) => (received += data.length));
    socket.write(`GET /api/v1/open HTTP/1.0\r\nHost: a\r\nAuthorization: ${gateway.authorization}\r\n\r\n`);
    await expect(once(socket, 'end')).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(received).toBeGreaterThan(0);
  });

  it('differs from a complete response without a length, which ends when the connection closes', async () => {
    answers('HTTP/1.1 200 OK', half);
    expect((await gateway.send('/open')).body).toEqual(half);
  });
});

describe('errors of the backend', () => {
  it('a 500 with an HTML page becomes a problem document without its content', async () => {
    answers(
      'HTTP/1.1 500 Oops\r\nContent-Type: text/html\r\nX-Debug: yes',
      `<h1>RuntimeError</h1><pre>${SECRET}\n at x.rb:1</pre>`,
    );
    const refused = await gateway.send('/open');
    expectProblem(refused, 'backend_error');
    expect(JSON.stringify([refused.text, refused.rawHeaders])).not.toMatch(/hunter2|RuntimeError|<|debug/i);
  });

  it('a 500 with JSON becomes a problem document without its content', async () => {
    json(500, { message: SECRET, code: 'x' });
    expect((await gateway.send('/open')).text).not.toMatch(/hunter2|"x"/);
  });

  it('a 422 with JSON keeps its message, its code and its field errors as JSON pointers', async () => {
    json(422, {
      error: {
        code: 'validation_failed',
        message: 'Two fields are wrong.',
        fields: [{ field: 'address.zip', message: 'is too short' }],
      },
    });
    expect(expectProblem(await gateway.send('/open'), 'validation_failed')).toMatchObject({
      detail: 'Two fields are wrong.',
      reason: 'validation_failed',
      errors: [{ detail: 'is too short', pointer: '#/address/zip' }],
    });
  });

  it('a compressed 422 keeps its field errors in an uncompressed problem document', async () => {
    const body = gzipSync('{"errors":{"email":["is taken"]}}');
    answers(
      `HTTP/1.1 422 X\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: ${body.length}`,
      body,
    );
    const refused = await gateway.send('/open', { headers: { 'Accept-Encoding': 'gzip' } });
    expect(expectProblem(refused, 'validation_failed').errors).toEqual([{ detail: 'is taken', pointer: '#/email' }]);
    expect(refused.headers['content-encoding']).toBeUndefined();
  });

  it('an endless error body is cut off', async () => {
    answers('HTTP/1.1 404 X\r\nContent-Type: application/json', '', (socket) => {
      const timer = setInterval(() => socket.write(Buffer.alloc(64 * 1024, ' ')), 1);
      socket.on('close', () => clearInterval(timer));
    });
    expectProblem(await gateway.send('/open'), 'resource_not_found');
  });

  it.each([401, 403, 407])('a %i for the gateway itself becomes a 502 without details', async (status) => {
    json(status, { message: SECRET }, '\r\nWWW-Authenticate: Basic realm="internal"');
    const refused = await gateway.send('/open');
    expectProblem(refused, 'backend_bad_response');
    expect(refused.headers['www-authenticate']).toBeUndefined();
    expect(refused.text).not.toMatch(/hunter2|internal/);
  });

  it.each([
    [401, 'invalid_api_key'],
    [403, 'forbidden'],
  ] as const)('a %i of a service that authenticates clients is passed on', async (status, code) => {
    json(status, { message: 'Not yours.' });
    expect(expectProblem(await gateway.send('/authenticating'), code, status)).toMatchObject({ detail: 'Not yours.' });
  });

  it.each([
    [429, 'backend_rate_limited'],
    [503, 'backend_unavailable'],
  ] as const)('a %i keeps Retry-After', async (status, code) => {
    json(status, {}, '\r\nRetry-After: 17');
    const refused = await gateway.send('/open');
    expectProblem(refused, code);
    expect(refused.headers['retry-after']).toBe('17');
  });

  it('the client connection serves the next request after a 500', async () => {
    answer = (socket, received) => {
      const status = received.startsWith('GET /open?1 ') ? 500 : 200;
      socket.end(`HTTP/1.1 ${status} X\r\nContent-Length: 2\r\n\r\nok`);
    };
    const head = `Host: a\r\nAuthorization: ${gateway.authorization}\r\n`;
    const text = await gateway.raw(
      `GET /api/v1/open?1 HTTP/1.1\r\n${head}\r\nGET /api/v1/open?2 HTTP/1.1\r\n${head}Connection: close\r\n\r\n`,
    );
    expect([...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual(['500', '200']);
  });
});

describe('a response without a body', () => {
  it.each([
    ['GET', 204, 'HTTP/1.1 204 No Content'],
    ['GET', 304, 'HTTP/1.1 304 Not Modified\r\nETag: "1"\r\nContent-Length: 100'],
    ['HEAD', 200, 'HTTP/1.1 200 OK\r\nContent-Length: 100000'],
    ['HEAD', 404, 'HTTP/1.1 404 Not Found\r\nContent-Length: 100'],
    ['HEAD', 500, 'HTTP/1.1 500 X\r\nTransfer-Encoding: chunked'],
  ])('to %s with %i stays without one, and the connection serves the next request', async (method, status, head) => {
    answers(head);
    const fields = `Host: a\r\nAuthorization: ${gateway.authorization}\r\n`;
    const text = await gateway.raw(
      `${method} /api/v1/open HTTP/1.1\r\n${fields}\r\nGET /api/v1/nowhere HTTP/1.1\r\n${fields}Connection: close\r\n\r\n`,
    );
    const [first = '', second = ''] = text.split(/(?=HTTP\/1\.1 404 Not Found\r\n(?=[^]*route_not_found))/).slice(-2);
    expect(first).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(first.slice(first.indexOf('\r\n\r\n'))).toBe('\r\n\r\n');
    expect(second).toContain('route_not_found');
  });

  it('with an interim status is passed on, at most 8 times and only to HTTP/1.1 (RFC 9110 15.2)', async () => {
    const hint = 'HTTP/1.1 103 Early Hints\r\nLink: </x>\r\nLink: </y>\r\nX-Account-Id: evil\r\n\r\n';
    answers(`${hint.repeat(20)}HTTP/1.1 200 OK\r\nContent-Length: 2`, 'ok');
    const ask = (version: string): Promise<string> =>
      gateway.raw(
        `GET /api/v1/open HTTP/${version}\r\nHost: a\r\nAuthorization: ${gateway.authorization}\r\nConnection: close\r\n\r\n`,
      );
    const text = await ask('1.1');
    const passed = 'HTTP/1.1 103 Early Hints\r\nlink: </x>, </y>\r\n\r\n';
    expect(text.slice(0, passed.length * 8 + 17)).toBe(`${passed.repeat(8)}HTTP/1.1 200 OK\r\n`);
    expect(text).toMatch(/\r\n\r\nok$/);
    expect(await ask('1.0')).toMatch(/^HTTP\/1\.1 200 /);
  });
});
