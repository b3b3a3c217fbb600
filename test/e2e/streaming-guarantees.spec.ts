/** Guarantees of streams beyond their bytes: immediate events, trailers, ranges, conditions, and caching. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { connect, type ClientHttp2Session, type IncomingHttpHeaders } from 'node:http2';
import { makeCertificate } from '../support/certificates.js';
import { quietMsSince } from '../support/machine-time.js';
import { eventually, sleep, temporaryFolder } from '../support/processes.js';
import { startProxied, type Proxied } from '../support/proxied.js';
import { describeWithOpenssl } from '../support/describe-with.js';

const IDLE_MS = 600;
const AT_ONCE_MS = 100;

let gateway: Proxied;

beforeAll(async () => {
  gateway = await startProxied({
    targetPath: '/internal',
    backendOptions: { atOnce: true },
    config: { services: { backend: { maxBodyBytes: '1MiB', timeouts: { idle: `${IDLE_MS}ms` } } } },
  });
});
afterAll(() => gateway.stop());

/** Makes the backend stream events. Returns functions that write to its response and end it. */
function events(): { write: (text: string) => void; end: () => void } {
  let answer: ServerResponse | undefined;
  gateway.answerWith((_request, response) => {
    answer = response;
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    response.flushHeaders();
  });
  return { write: (text) => void answer?.write(text), end: () => void answer?.end() };
}

describe('server-sent events', () => {
  it('arrive within 100 ms each, outlast the idle timeout by heartbeats, and end cleanly', async () => {
    const { write, end } = events();
    const { response } = await gateway.exchange('/open', { headers: ['Accept', 'text/event-stream'] });
    expect(response.headers).toMatchObject({ 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    response.setEncoding('utf8');
    const startedMs = performance.now();
    for (let index = 0; performance.now() - startedMs < IDLE_MS * 3; index++) {
      const text = index % 2 === 0 ? `id: ${index}\ndata: ${'x'.repeat(index)}\n\n` : ': heartbeat\n\n';
      const sentMs = performance.now();
      const arrived = once(response, 'data');
      write(text);
      expect(await arrived).toEqual([text]);
      expect(quietMsSince(sentMs)).toBeLessThan(AT_ONCE_MS);
      await sleep(IDLE_MS / 3);
    }
    const ended = once(response, 'end');
    end();
    await ended;
    expect(response.complete).toBe(true);
  });

  it('are cut after the idle timeout without activity, and do not end cleanly', async () => {
    const { write } = events();
    const { response } = await gateway.exchange('/open');
    write('data: 1\n\n');
    const closed = new Promise((resolve) => response.once('close', resolve));
    response.on('error', () => undefined).resume();
    const startedMs = performance.now();
    await closed;
    expect(response.complete).toBe(false);
    expect(performance.now() - startedMs).toBeGreaterThan(IDLE_MS - 50);
  });
});

describe('response trailers (RFC 9110 section 6.5)', () => {
  beforeAll(() => {
    gateway.answerWith((_request, response) => {
      response.writeHead(200, {
        'content-type': 'text/plain',
        trailer: 'Digest, Content-Length, X-Account-Id, Server-Timing',
      });
      response.write('body');
      response.addTrailers({
        Digest: 'sha-256=abc',
        'Server-Timing': 'db;dur=5',
        'X-Account-Id': 'acc_evil',
        'Set-Cookie': 'a=1',
        'Content-Type': 'text/html',
        'Cache-Control': 'public',
        RateLimit: 'evil',
        'Access-Control-Allow-Origin': '*',
      });
      response.end();
    });
  });

  it('reach a client that accepts them, except for fields that are forbidden there or set by the gateway', async () => {
    const answer = await gateway.send('/open', { headers: ['TE', 'trailers, deflate;q=0.5', 'Connection', 'TE'] });
    expect(answer.text).toBe('body');
    expect(answer.trailers).toEqual({ digest: 'sha-256=abc', 'server-timing': 'db;dur=5' });
    expect(answer.headers['trailer']).toBe('Digest, Server-Timing');
    expect(answer.headers['content-type']).toBe('text/plain');
  });

  it.each([
    ['no TE', []],
    ['another TE', ['TE', 'deflate']],
  ])('are dropped for a client with %s', async (_what, headers) => {
    const answer = await gateway.send('/open', { headers });
    expect([answer.text, answer.trailers, answer.headers['trailer']]).toEqual(['body', {}, undefined]);
  });

  it('are dropped for HTTP/1.0, and the response is complete', async () => {
    const head = `GET /api/v1/open HTTP/1.0\r\nHost: a\r\nTE: trailers\r\nAuthorization: ${gateway.authorization}\r\n\r\n`;
    const text = await gateway.raw(head);
    expect(text).toMatch(/\r\n\r\nbody$/);
    expect(text.toLowerCase()).not.toContain('digest');
  });
});

describe('request trailers', () => {
  it('are dropped, and none of them becomes a header field at the backend', async () => {
    gateway.answerWith(async (request, response) => {
      await once(request.resume(), 'end');
      response.end('ok');
    });
    const head = `PUT /api/v1/files/a HTTP/1.1\r\nHost: a\r\nAuthorization: ${gateway.authorization}\r\nTrailer: Digest\r\n`;
    const body = 'Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n4\r\nbody\r\n0\r\n';
    const ask = (trailers: string): Promise<string> => gateway.raw(`${head}${body}${trailers}\r\n\r\n`);
    // A Content-Length in the trailers is an attack.
    expect(await ask('Content-Length: 3')).toMatch(/^HTTP\/1\.1 400 /);
    gateway.backend.requests.length = 0;
    expect(await ask('Digest: x\r\nX-Account-Id: acc_evil\r\nAuthorization: Bearer x')).toMatch(/^HTTP\/1\.1 200 /);
    const [received] = gateway.backend.requests;
    expect([received?.body.toString(), received?.trailers]).toEqual(['body', {}]);
    expect(received?.headers['x-account-id']).not.toBe('acc_evil');
    expect(received?.headers['trailer']).toBeUndefined();
  });
});

describe('ranges, conditions and lengths', () => {
  const BODY = Buffer.from('0123456789');

  it.each([
    [
      206,
      ['Range', 'bytes=2-4', 'If-Range', '"v1"'],
      { 'content-range': 'bytes 2-4/10', 'content-length': '3' },
      '234',
    ],
    [
      206,
      ['Range', 'bytes=0-0,9-9'],
      { 'content-type': 'multipart/byteranges; boundary=x' },
      '--x\r\nContent-Range: bytes 0-0/10\r\n\r\n0\r\n--x\r\nContent-Range: bytes 9-9/10\r\n\r\n9\r\n--x--\r\n',
    ],
    [200, ['If-Range', '"v0"', 'Range', 'bytes=2-4'], { 'accept-ranges': 'bytes', etag: '"v1"' }, BODY.toString()],
    [304, ['If-None-Match', '"v1"'], { etag: '"v1"', 'cache-control': 'max-age=60', vary: 'Accept' }, ''],
    [
      304,
      ['If-Modified-Since', 'Fri, 20 Nov 2026 10:00:00 GMT'],
      { 'last-modified': 'Fri, 20 Nov 2026 10:00:00 GMT' },
      '',
    ],
  ])('pass through with %i to %j', async (status, fields, answered, body) => {
    gateway.answerWith((_request, response) => {
      response.writeHead(status, answered);
      response.end(body);
    });
    const answer = await gateway.send('/files/a', { headers: fields });
    expect(answer).toMatchObject({ status, headers: answered, text: body });
    const received = gateway.backend.requests[0]?.headers ?? {};
    for (let index = 0; index < fields.length; index += 2) {
      expect(received[String(fields[index]).toLowerCase()]).toBe(fields[index + 1]);
    }
  });

  it('keep Content-Range on 416, and get precondition_failed on 412', async () => {
    gateway.answerWith((_request, response) => {
      response.writeHead(416, { 'content-range': 'bytes */10' });
      response.end();
    });
    const answer = await gateway.send('/files/a', { headers: ['Range', 'bytes=20-'] });
    expect(answer).toMatchObject({ status: 416, headers: { 'content-range': 'bytes */10' } });
    expect(answer.json()).toMatchObject({ status: 416, code: 'request_refused' });
    gateway.answerWith((_request, response) => {
      response.writeHead(412);
      response.end();
    });
    const refused = await gateway.send('/files/a', { method: 'PUT', body: 'x', headers: ['If-Match', '"v0"'] });
    expect(refused.json()).toMatchObject({ status: 412, code: 'precondition_failed' });
  });

  it('keep Content-Length on HEAD, and have none on 204', async () => {
    gateway.answerWith((request, response) => {
      if (request.method === 'HEAD') response.writeHead(200, { 'content-length': 12_345, etag: '"v1"' });
      else response.writeHead(204, { etag: '"v2"' });
      response.end();
    });
    const head = await gateway.send('/files/a', { method: 'HEAD' });
    expect(head).toMatchObject({ status: 200, headers: { 'content-length': '12345', etag: '"v1"' }, text: '' });
    const deleted = await gateway.send('/customers/1', { method: 'DELETE' });
    expect([deleted.status, deleted.headers['content-length'], deleted.headers['etag']]).toEqual([
      204,
      undefined,
      '"v2"',
    ]);
  });
});

describe('a cache between gateway and client', () => {
  const answered = async (
    fields: Record<string, string>,
    method = 'GET',
    status = 200,
  ): Promise<string | undefined> => {
    gateway.answerWith(async (request, response) => {
      await once(request.resume(), 'end');
      response.writeHead(status, fields);
      response.end();
    });
    return (await gateway.send('/customers', { method })).headers['cache-control'];
  };

  it('must not share a response to which the backend gave no Cache-Control', async () => {
    expect(await answered({})).toBe('private');
    expect(await answered({ expires: 'Fri, 20 Nov 2026 10:00:00 GMT' })).toBe('private');
    expect(await answered({ etag: '"1"' }, 'HEAD')).toBe('private');
    expect(await answered({ etag: '"1"' }, 'GET', 304)).toBe('private');
    expect(await answered({}, 'POST', 201)).toBeUndefined();
  });

  it('gets the Cache-Control of the backend unchanged', async () => {
    for (const value of ['public, max-age=60', 'max-age=60', 'no-store', 's-maxage=1']) {
      expect(await answered({ 'cache-control': value })).toBe(value);
    }
  });

  it('must not store an error', async () => {
    expect(await answered({ 'cache-control': 'public, max-age=60' }, 'GET', 404)).toBe('no-store');
  });
});

describe('an address in response fields', () => {
  it('becomes a path of the public API if it is that of the target', async () => {
    const { url } = gateway.backend;
    gateway.answerWith(async (request, response) => {
      await once(request.resume(), 'end');
      response.writeHead(201, {
        Location: `${url}/internal/customers/cus_1`,
        'Content-Location': '/internal/customers/cus_1?full=1',
        Link: `<${url}/internal/customers?cursor=2>; rel="next", <https://docs.example.com/>; rel="help"`,
      });
      response.end('{}');
    });
    const answer = await gateway.send('/customers', { method: 'POST', body: {} });
    expect(answer.headers).toMatchObject({
      location: '/api/v1/customers/cus_1',
      'content-location': '/api/v1/customers/cus_1?full=1',
      link: '</api/v1/customers?cursor=2>; rel="next", <https://docs.example.com/>; rel="help"',
    });
    expect(answer.rawHeaders.join()).not.toContain('internal');
  });

  it('stays unchanged if it is that of another origin', async () => {
    gateway.answerWith((_request, response) => {
      response.writeHead(302, { Location: 'https://elsewhere.example/internal/x' });
      response.end();
    });
    expect((await gateway.send('/customers')).headers['location']).toBe('https://elsewhere.example/internal/x');
  });
});

describe('an upload without a length over the limit', () => {
  it('gets 413 in mid-stream, and is aborted at the backend', async () => {
    gateway.answerWith((request) => void request.resume());
    const request = gateway.open('/files/a', { method: 'PUT', headers: ['Transfer-Encoding', 'chunked'] });
    const answered = once(request, 'response');
    request.on('error', () => undefined);
    for (let index = 0; index < 20; index++) request.write(Buffer.alloc(64 * 1024));
    const [response] = await answered;
    expect(response.statusCode).toBe(413);
    response.resume();
    await eventually('the backend request is aborted', () => gateway.backend.requests[0]?.aborted === true);
    expect(gateway.backend.requests[0]?.bodySha256).toBeUndefined();
    request.destroy();
  });
});

describeWithOpenssl('over HTTP/2', () => {
  let secure: Proxied;
  let session: ClientHttp2Session;

  beforeAll(async () => {
    const files = makeCertificate(temporaryFolder('guarantees'));
    secure = await startProxied({
      backendOptions: { atOnce: true },
      config: { gateway: { tls: { cert: files.cert, key: files.key } } },
    });
    session = connect(secure.trailgate.gatewayUrl, { ca: readFileSync(files.cert) });
  });
  afterAll(async () => {
    session.destroy();
    await secure.stop();
  });

  const ask = (more: Record<string, string> = {}) =>
    session.request({ ':path': '/api/v1/open', authorization: secure.authorization, ...more });

  it('events arrive within 100 ms', async () => {
    let answer: ServerResponse | undefined;
    secure.answerWith((_request, response) => {
      answer = response;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.flushHeaders();
    });
    const stream = ask();
    await once(stream, 'response');
    for (const text of ['data: 1\n\n', ': heartbeat\n\n', 'data: 2\n\n']) {
      const sentMs = performance.now();
      const arrived = once(stream, 'data');
      answer?.write(text);
      expect(String((await arrived)[0])).toBe(text);
      expect(quietMsSince(sentMs)).toBeLessThan(AT_ONCE_MS);
    }
    stream.destroy();
  });

  it('trailers and early hints are forwarded', async () => {
    secure.answerWith((_request, response) => {
      response.writeEarlyHints({ link: '</style.css>; rel=preload; as=style' });
      response.writeHead(200, { trailer: 'Digest' });
      response.write('body');
      response.addTrailers({ Digest: 'sha-256=abc', 'X-Request-Id': 'evil' });
      response.end();
    });
    const stream = ask({ te: 'trailers' });
    const hints: IncomingHttpHeaders[] = [];
    const trailers: IncomingHttpHeaders[] = [];
    stream.on('headers', (headers) => hints.push(headers));
    stream.on('trailers', (headers) => trailers.push(headers));
    await once(stream.resume(), 'end');
    expect(hints).toMatchObject([{ ':status': 103, link: '</style.css>; rel=preload; as=style' }]);
    expect(trailers.map(({ digest, 'x-request-id': id }) => [digest, id])).toEqual([['sha-256=abc', undefined]]);
  });
});
