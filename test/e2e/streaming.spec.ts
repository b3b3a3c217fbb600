/** Bodies stream both ways: whole, untouched, at once, at the pace of the slower side, in constant memory. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { json } from '../support/backend.js';
import { quietMsSince } from '../support/machine-time.js';
import { eventually, sleep } from '../support/processes.js';
import { startProxied, type OwnProxied } from '../support/proxied.js';

const MEBIBYTE = 1024 * 1024;
const LARGE_MEBIBYTES = 200;
/** How much larger the gateway may become while 200 MiB pass through it. */
const MOST_GROWTH_MEBIBYTES = 80;

const CHUNK = randomBytes(MEBIBYTE);

let gateway: OwnProxied;

beforeAll(async () => {
  gateway = await startProxied({ own: true, backendOptions: { atOnce: true } });
});
afterAll(() => gateway.stop());

/** 200 MiB in which no two MiB are alike. */
function* largeBody(): Generator<Buffer> {
  for (let index = 0; index < LARGE_MEBIBYTES; index++) {
    CHUNK.writeUInt32BE(index);
    yield Buffer.from(CHUNK);
  }
}

function sha256Of(chunks: Iterable<Buffer>): string {
  const hash = createHash('sha256');
  for (const chunk of chunks) hash.update(chunk);
  return hash.digest('hex');
}

/** Resident memory of the gateway in MiB. */
function residentMebibytes(): number {
  const status = readFileSync(`/proc/${gateway.trailgate.pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
}

/** The most by which the gateway's memory grows while `work` is done. */
async function growthDuring(work: () => Promise<void>): Promise<number> {
  const before = residentMebibytes();
  let most = before;
  const timer = setInterval(() => (most = Math.max(most, residentMebibytes())), 20);
  await work().finally(() => clearInterval(timer));
  return most - before;
}

async function sha256OfAnswer(response: IncomingMessage): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of response) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

describe('200 MiB', () => {
  const expected = sha256Of(largeBody());

  // The first large body makes the room for young objects as large as V8 lets it grow, once.
  beforeAll(async () => {
    gateway.answerWith(async (request, response) => {
      for await (const _chunk of request);
      response.end('stored');
    });
    await gateway.send('/files/first', { method: 'PUT', body: Readable.from(largeBody()) });
  });

  it.each(['with a Content-Length', 'chunked'])('up, %s: byte for byte, in constant memory', async (framing) => {
    gateway.answerWith(async (request, response) => {
      for await (const _chunk of request);
      response.end('stored');
    });
    const length = framing === 'chunked' ? [] : ['Content-Length', String(LARGE_MEBIBYTES * MEBIBYTE)];
    const growth = await growthDuring(async () => {
      const options = { method: 'PUT', body: Readable.from(largeBody()), headers: length };
      expect((await gateway.send('/files/large', options)).text).toBe('stored');
    });
    expect(gateway.backend.requests[0]).toMatchObject({ bodyBytes: LARGE_MEBIBYTES * MEBIBYTE, bodySha256: expected });
    expect(growth).toBeLessThan(MOST_GROWTH_MEBIBYTES);
  });

  it.each(['with a Content-Length', 'chunked'])('down, %s: byte for byte, in constant memory', async (framing) => {
    gateway.answerWith((_request, response) => {
      response.writeHead(200, framing === 'chunked' ? {} : { 'content-length': LARGE_MEBIBYTES * MEBIBYTE });
      return pipeline(Readable.from(largeBody()), response);
    });
    const growth = await growthDuring(async () => {
      const { response } = await gateway.exchange('/files/large');
      expect(await sha256OfAnswer(response)).toBe(expected);
    });
    expect(growth).toBeLessThan(MOST_GROWTH_MEBIBYTES);
  });
});

describe('a body of any kind', () => {
  it.each([
    ['invalid JSON that calls itself JSON', 'application/json', '{"half": '],
    ['chunks without a content type', undefined, 'anything'],
    ['an unknown content type', 'application/x-own; p="q"', '\0\x01'],
    ['an empty chunked body', 'text/plain', ''],
    ['a form', 'application/x-www-form-urlencoded', '_method=DELETE&a=%00'],
  ])('%s is passed on as it is', async (_what, contentType, text) => {
    gateway.answerWith(async (request, response) => {
      await once(request.resume(), 'end');
      response.end('ok');
    });
    const body = Readable.from(text === '' ? [] : [Buffer.from(text)]);
    const headers = contentType === undefined ? [] : ['Content-Type', contentType];
    expect((await gateway.send('/customers', { method: 'POST', body, headers })).status).toBe(200);
    const [received] = gateway.backend.requests;
    expect([received?.body.toString(), received?.headers['content-type']]).toEqual([text, contentType]);
  });

  it('arrives at the backend while the client is still sending', async () => {
    gateway.answerWith(async (request, response) => {
      await once(request.resume(), 'end');
      response.end('ok');
    });
    const request = gateway.open('/files/a', { method: 'PUT', headers: ['Transfer-Encoding', 'chunked'] });
    const answered = once(request, 'response') as Promise<[IncomingMessage]>;
    request.write('first');
    await eventually('the first piece is at the backend', () => gateway.backend.requests[0]?.bodyBytes === 5);
    request.end(' last');
    const [response] = await answered;
    response.resume();
    expect(response.statusCode).toBe(200);
    expect(gateway.backend.requests[0]?.body.toString()).toBe('first last');
  });
});

describe('server-sent events', () => {
  it('each arrives at once, long before the stream ends', async () => {
    let send = (_text: string): void => {};
    gateway.answerWith((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.flushHeaders();
      send = (text) => void response.write(text);
    });
    const { request, response } = await gateway.exchange('/open');
    expect(response.headers).toMatchObject({ 'content-type': 'text/event-stream' });
    for (const event of ['data: 1\n\n', 'data: 2\n\n']) {
      const startedMs = performance.now();
      const arrived = once(response, 'data') as Promise<[Buffer]>;
      send(event);
      expect((await arrived)[0].toString()).toBe(event);
      expect(quietMsSince(startedMs)).toBeLessThan(500);
    }
    request.destroy();
    await eventually('the backend notices that nobody listens', () => gateway.backend.requests[0]?.aborted === true);
  });
});

describe('the pace is that of the slower side', () => {
  /** What the sockets of two hops may hold between a sender and a receiver that does not read. */
  const MOST_IN_FLIGHT_MEBIBYTES = 40;

  it('a client that does not read holds the backend; when it reads on, it gets everything', async () => {
    let produced = 0;
    function* counted(): Generator<Buffer> {
      for (const chunk of largeBody()) {
        produced++;
        yield chunk;
      }
    }
    gateway.answerWith((_request, response) => pipeline(Readable.from(counted()), response));
    const growth = await growthDuring(async () => {
      const { response } = await gateway.exchange('/files/large');
      response.pause();
      await sleep(700);
      const held = produced;
      await sleep(300);
      expect([produced, held <= MOST_IN_FLIGHT_MEBIBYTES]).toEqual([held, true]);
      expect(await sha256OfAnswer(response)).toBe(sha256Of(largeBody()));
    });
    expect(produced).toBe(LARGE_MEBIBYTES);
    expect(growth).toBeLessThan(MOST_GROWTH_MEBIBYTES);
  });

  it('a backend that does not read holds the uploader; when it reads on, it gets everything', async () => {
    let produced = 0;
    function* counted(): Generator<Buffer> {
      for (const chunk of largeBody()) {
        produced++;
        yield chunk;
      }
    }
    let readOn = (): void => {};
    gateway.answerWith(async (request, response) => {
      await new Promise<void>((resolve) => (readOn = resolve));
      for await (const _chunk of request);
      response.end('stored');
    });
    const growth = await growthDuring(async () => {
      const uploading = gateway.send('/files/large', { method: 'PUT', body: Readable.from(counted()) });
      await sleep(700);
      const held = produced;
      await sleep(300);
      expect([produced, held <= MOST_IN_FLIGHT_MEBIBYTES]).toEqual([held, true]);
      readOn();
      expect((await uploading).text).toBe('stored');
    });
    expect(gateway.backend.requests[0]?.bodySha256).toBe(sha256Of(largeBody()));
    expect(growth).toBeLessThan(MOST_GROWTH_MEBIBYTES);
  });
});

describe('Expect: 100-continue (RFC 9110 section 10.1.1)', () => {
  /** Sends a head, waits for what comes, then sends the body when it is asked for. Returns all that came back. */
  async function expecting(head: string, body: string): Promise<string> {
    const socket = connect(gateway.port, '127.0.0.1').setEncoding('latin1');
    socket.write(`${head}\r\n\r\n`);
    let received = '';
    socket.on('data', (text: string) => {
      if (received === '' && text.startsWith('HTTP/1.1 100 ')) socket.write(body);
      received += text;
    });
    await once(socket, 'close');
    return received;
  }

  const head = (authorization: string, more = ''): string =>
    `PUT /api/v1/files/a HTTP/1.1\r\nHost: a\r\nAuthorization: ${authorization}\r\nContent-Length: 4\r\nConnection: close\r\n${more}Expect: 100-continue`;

  it('the body is asked for once the guards have let the request in', async () => {
    gateway.answerWith(async (request, response) => {
      await once(request.resume(), 'end');
      json({ ok: true })(request, response, gateway.backend.requests[0]!);
    });
    const received = await expecting(head(gateway.authorization), 'body');
    expect(received).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\n/);
    expect(gateway.backend.requests[0]?.body.toString()).toBe('body');
    expect(gateway.backend.requests[0]?.headers['expect']).toBeUndefined();
  });

  it.each([
    ['no valid key', 401, () => head('Bearer junk')],
    ['a body that is too large', 413, () => head(gateway.authorization).replace('Length: 4', 'Length: 99999999999')],
    ['a path that does not exist', 404, () => head(gateway.authorization).replace('files', 'nowhere')],
  ])('a request with %s is refused and its body not asked for', async (_what, status, refused) => {
    gateway.backend.requests.length = 0;
    const received = await expecting(refused(), 'body');
    expect(received).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(received).not.toContain('100 Continue');
    expect(gateway.backend.requests).toHaveLength(0);
  });
});
