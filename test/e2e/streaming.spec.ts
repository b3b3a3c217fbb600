/** Bodies stream in both directions: complete, unchanged, without delay, and at the pace of the slower side. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { json } from '../support/backend.js';
import { largeBody, MEBIBYTE, mebibytesPerConnection, sha256Of, sha256OfStream } from '../support/large-body.js';
import { quietMsSince } from '../support/machine-time.js';
import { eventually } from '../support/processes.js';
import { startProxied, type Proxied } from '../support/proxied.js';

const LARGE_MEBIBYTES = 60;

/** Maximum mebibytes between a sender and a receiver that does not read: in two connections and in the programs. */
const MAX_IN_FLIGHT_MEBIBYTES = 2 * mebibytesPerConnection() + 4;

let gateway: Proxied;

beforeAll(async () => {
  gateway = await startProxied({ backendOptions: { atOnce: true } });
});
afterAll(() => gateway.stop());

const stored = async (request: AsyncIterable<unknown>, response: ServerResponse): Promise<void> => {
  for await (const _chunk of request);
  response.end('stored');
};

describe('a large body', () => {
  const expected = sha256Of(largeBody(LARGE_MEBIBYTES));

  it.each(['with a Content-Length', 'chunked'])('is uploaded %s, byte for byte', async (framing) => {
    gateway.answerWith(stored);
    const length = framing === 'chunked' ? [] : ['Content-Length', String(LARGE_MEBIBYTES * MEBIBYTE)];
    const options = { method: 'PUT', body: Readable.from(largeBody(LARGE_MEBIBYTES)), headers: length };
    expect((await gateway.send('/files/large', options)).text).toBe('stored');
    expect(gateway.backend.requests[0]).toMatchObject({ bodyBytes: LARGE_MEBIBYTES * MEBIBYTE, bodySha256: expected });
  });

  it('is downloaded with a Content-Length, byte for byte', async () => {
    gateway.answerWith((_request, response) => {
      response.writeHead(200, { 'content-length': LARGE_MEBIBYTES * MEBIBYTE });
      return pipeline(Readable.from(largeBody(LARGE_MEBIBYTES)), response);
    });
    const { response } = await gateway.exchange('/files/large');
    expect(await sha256OfStream(response)).toBe(expected);
  });
});

describe('a body larger than all sockets on its way', () => {
  const MEBIBYTES = MAX_IN_FLIGHT_MEBIBYTES + 40;
  const expected = sha256Of(largeBody(MEBIBYTES));

  /** Returns a body, and a function for the number of mebibytes that were read from it. */
  function counted(): { body: Generator<Buffer>; sent(): number } {
    let count = 0;
    function* body(): Generator<Buffer> {
      for (const chunk of largeBody(MEBIBYTES)) {
        count++;
        yield chunk;
      }
    }
    return { body: body(), sent: () => count };
  }

  /** Expects the sender to pause before it has sent everything. */
  async function expectHeld(sent: () => number): Promise<void> {
    let [last, sinceMs] = [0, performance.now()];
    await eventually('the sender pauses', () => {
      if (sent() !== last) [last, sinceMs] = [sent(), performance.now()];
      return last > 0 && performance.now() - sinceMs > 300;
    });
    expect(last).toBeLessThanOrEqual(MAX_IN_FLIGHT_MEBIBYTES);
  }

  it('is downloaded chunked at the pace of the client, and is complete after the client has paused', async () => {
    const { body, sent } = counted();
    gateway.answerWith((_request, response) => pipeline(Readable.from(body), response));
    const { response } = await gateway.exchange('/files/large');
    response.pause();
    await expectHeld(sent);
    expect(await sha256OfStream(response)).toBe(expected);
  });

  it('is uploaded at the pace of the backend, and is complete after the backend has paused', async () => {
    const { body, sent } = counted();
    let readOn = (): void => {};
    gateway.answerWith(async (request, response) => {
      await new Promise<void>((resolve) => (readOn = resolve));
      await stored(request, response);
    });
    const uploading = gateway.send('/files/large', { method: 'PUT', body: Readable.from(body) });
    await expectHeld(sent);
    readOn();
    expect((await uploading).text).toBe('stored');
    expect(gateway.backend.requests[0]?.bodySha256).toBe(expected);
  });
});

describe('a body of any kind', () => {
  it.each([
    ['invalid JSON that calls itself JSON', 'application/json', '{"half": '],
    ['chunks without a content type', undefined, 'anything'],
    ['an unknown content type', 'application/x-own; p="q"', '\0\x01'],
    ['an empty chunked body', 'text/plain', ''],
    ['a form', 'application/x-www-form-urlencoded', '_method=DELETE&a=%00'],
  ])('is forwarded unchanged: %s', async (_what, contentType, text) => {
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
  it('arrive within 500 ms each, before the stream ends', async () => {
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
    await eventually('the backend request is aborted', () => gateway.backend.requests[0]?.aborted === true);
  });
});

describe('Expect: 100-continue (RFC 9110 section 10.1.1)', () => {
  /** Sends a head, and the body once `100 Continue` arrives. Returns everything that was received. */
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

  it('is answered with 100 for an authorized request, and not forwarded to the backend', async () => {
    gateway.answerWith(async (request, response) => {
      await once(request.resume(), 'end');
      json({ ok: true })(request, response, gateway.backend.requests[0]!);
    });
    const received = await expecting(head(gateway.authorization), 'body');
    expect(received).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\n/);
    expect(gateway.backend.requests[0]?.body.toString()).toBe('body');
    expect(gateway.backend.requests[0]?.headers['expect']).toBeUndefined();
  });

  it('is answered with 100 before the backend responds, whose early refusal still arrives', async () => {
    gateway.answerWith((request, response) => {
      response.writeHead(417, { 'Content-Length': '0' }).end();
      request.resume();
    });
    const received = await expecting(head(gateway.authorization), 'body');
    expect(received).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 417 /);
  });

  it.each([
    ['no valid key', 401, () => head('Bearer junk')],
    ['a body that is too large', 413, () => head(gateway.authorization).replace('Length: 4', 'Length: 99999999999')],
    ['a path that does not exist', 404, () => head(gateway.authorization).replace('files', 'nowhere')],
  ])('gets no 100 for a request with %s, which is refused', async (_what, status, refused) => {
    gateway.backend.requests.length = 0;
    const received = await expecting(refused(), 'body');
    expect(received).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(received).not.toContain('100 Continue');
    expect(gateway.backend.requests).toHaveLength(0);
  });
});
