/** HTTP/2 on the public listener: the same responses as HTTP/1.1, concurrent streams, resets, and shutdown. */
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import {
  connect,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from 'node:http2';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { startBackend, type Backend } from '../support/backend.js';
import { makeCertificate } from '../support/certificates.js';
import { eventually, temporaryFolder } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';
import { connectRawHttp2, END_HEADERS, END_STREAM, fieldBlock, frame, FRAME } from '../support/raw-http2.js';
import { describeWithOpenssl } from '../support/describe-with.js';

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

const BIG = randomBytes(5 * 1024 * 1024);
const TWICE = [
  'ETag',
  '"1"',
  'ETag',
  '"2"',
  'Content-Type',
  'text/a',
  'Content-Type',
  'text/b',
  'HTTP2-Settings',
  'AAA',
];
const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname } = new URL(request.url ?? '', 'http://backend');
  if (pathname === '/customers/big') {
    response.end(BIG);
  } else if (pathname === '/customers/broken') {
    response.writeHead(200, { 'Content-Length': '100000' });
    response.write('half of it', () => setTimeout(() => response.destroy(), 50));
  } else if (pathname === '/customers/never') {
    response.writeHead(200, { 'Content-Type': 'text/plain' });
    response.write('beginning');
  } else if (pathname === '/customers/cookies') {
    response.writeHead(200, { 'Set-Cookie': ['a=1', 'b=2'], Connection: 'close', 'Keep-Alive': 'timeout=5' });
    response.end('{}');
  } else if (pathname === '/customers/twice') {
    // Node's HTTP/2 refuses to send these fields twice.
    response.writeHead(200, ['X-Content-Type-Options', 'nosniff', 'X-Content-Type-Options', 'nosniff', ...TWICE]);
    response.end('{}');
  } else if (pathname === '/customers/many') {
    response.writeHead(200, Array.from({ length: 4_000 }, (_, index) => [`x${index}`, 'v']).flat());
    response.end('{}');
  } else if (pathname === '/customers/late') {
    setTimeout(() => response.end('late'), 600);
  } else {
    response.writeHead(200, { 'Content-Type': 'application/json' });
    response.end('{"data":[]}');
  }
}

describeWithOpenssl('the public listener over HTTP/2', () => {
  let backend: Backend;
  let trailgate: RunningTrailgate;
  let ca: Buffer;
  let secret: string;
  const sessions: ClientHttp2Session[] = [];

  const session = (url = trailgate.gatewayUrl): ClientHttp2Session => {
    const made = connect(url, { ca });
    made.on('error', () => undefined);
    sessions.push(made);
    return made;
  };
  const ask = (on: ClientHttp2Session, path: string, more: OutgoingHttpHeaders = {}): ClientHttp2Stream =>
    on.request({ ':path': `/api/v1${path}`, authorization: `Bearer ${secret}`, ...more });
  const whole = async (stream: ClientHttp2Stream): Promise<Answer> => {
    const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders];
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk as Buffer);
    return { status: Number(headers[':status']), headers, body: Buffer.concat(chunks) };
  };
  const get = (path: string, more: OutgoingHttpHeaders = {}): Promise<Answer> =>
    whole(ask(session(), path, more).end());

  beforeAll(async () => {
    const files = makeCertificate(temporaryFolder('http2'));
    ca = readFileSync(files.cert);
    backend = await startBackend(answer);
    trailgate = await startTrailgate({
      backend: backend.url,
      config: {
        gateway: { tls: { cert: files.cert, key: files.key } },
        services: { backend: { maxBodyBytes: '10MiB' } },
      },
    });
    const scopes = ['customers:read', 'customers:write'];
    ({ secret } = (await trailgate.admin.newKey('unlimited', { scopes })).key);
  });

  afterEach(() => {
    for (const each of sessions.splice(0)) each.destroy();
  });

  afterAll(async () => {
    await trailgate?.stop();
    await backend?.stop();
  });

  it('forwards a request as over HTTP/1.1, and names HTTP/2 to the backend in Via', async () => {
    const { status, headers, body } = await get('/customers?limit=2', { cookie: ['a=1', 'b=2'], 'x-own': 'yes' });
    expect({ status, body: body.toString() }).toEqual({ status: 200, body: '{"data":[]}' });
    expect(headers['x-request-id']).toMatch(/^req_/);
    const received = backend.requests.at(-1);
    expect(received?.url).toBe('/customers?limit=2');
    expect(received?.headers).toMatchObject({
      'x-own': 'yes',
      cookie: 'a=1; b=2',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': new URL(trailgate.gatewayUrl).host,
      via: '2.0 trailgate',
    });
    expect(received?.rawHeaders.filter((name) => name.startsWith(':'))).toEqual([]);
    expect(received?.headers['authorization']).toBeUndefined();
  });

  it('returns problem documents for a missing key, unknown path, wrong method and conflicting hosts', async () => {
    const cases = [
      [await get('/customers', { authorization: '' }), 401, 'missing_api_key'],
      [await get('/nothing'), 404, 'route_not_found'],
      [await get('/customers', { ':method': 'PATCH' }), 405, 'method_not_allowed'],
      [await get('/customers', { ':authority': 'localhost', host: 'other.example' }), 400, 'bad_request'],
    ] as const;
    for (const [{ status, headers, body }, expected, code] of cases) {
      expect(status).toBe(expected);
      expect(headers['content-type']).toBe('application/problem+json; charset=utf-8');
      expect(JSON.parse(body.toString())).toMatchObject({ status, code });
    }
  });

  it('forwards requests without a body and without Transfer-Encoding, whatever their header fields', async () => {
    const heads: OutgoingHttpHeaders[] = [
      {},
      { ':method': 'DELETE' },
      { ':method': 'DELETE', 'idempotency-key': 'once-over-http2' },
      { 'content-length': '0' },
      { te: 'trailers' },
      { cookie: ['a=1', 'b=2'] },
      { ':authority': 'other.example', host: 'other.example' },
    ];
    const on = session();
    for (const head of heads) {
      const got = await whole(ask(on, '/customers/one', head).end());
      expect([head, got.status, got.body.toString()]).toEqual([head, 200, '{"data":[]}']);
      const { method, headers } = backend.requests.at(-1)!;
      expect(method).toBe(head[':method'] ?? 'GET');
      expect(headers['x-forwarded-host']).toBe(head[':authority'] ?? new URL(trailgate.gatewayUrl).host);
      expect(headers['cookie']).toBe(head['cookie'] === undefined ? undefined : 'a=1; b=2');
      expect(headers['transfer-encoding']).toBeUndefined();
    }
  });

  it('serves a hundred requests at once on one connection', async () => {
    const one = session();
    const answers = await Promise.all(Array.from({ length: 100 }, () => whole(ask(one, '/customers').end())));
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
  });

  it('passes bodies on byte for byte: responses, and requests with and without Content-Length', async () => {
    for (const length of [{}, { 'content-length': BIG.length }]) {
      const stream = ask(session(), '/customers', { ':method': 'POST', ...length });
      stream.end(BIG);
      expect((await whole(stream)).status).toBe(200);
      expect(backend.requests.at(-1)).toMatchObject({ bodyBytes: BIG.length, bodySha256: sha256(BIG) });
    }
    const { body, headers } = await get('/customers/big');
    expect(sha256(body)).toBe(sha256(BIG));
    expect(headers['transfer-encoding']).toBeUndefined();
  });

  it('keeps repeated Set-Cookie fields and drops connection-specific fields', async () => {
    const { headers } = await get('/customers/cookies');
    expect(headers['set-cookie']).toEqual(['a=1', 'b=2']);
    expect(Object.keys(headers)).not.toContain('connection');
    expect(Object.keys(headers)).not.toContain('keep-alive');
  });

  it('passes on a response with repeated fields or with 4,000 fields, and drops HTTP2-Settings', async () => {
    const one = connect(trailgate.gatewayUrl, {
      ca,
      maxHeaderListPairs: 10_000,
      settings: { maxHeaderListSize: 1024 * 1024 },
    });
    sessions.push(one);
    const twice = await whole(ask(one, '/customers/twice').end());
    expect(twice.status).toBe(200);
    expect(twice.headers['x-content-type-options']).toMatch(/^nosniff/);
    expect(Object.keys(twice.headers)).not.toContain('http2-settings');
    const many = await whole(ask(one, '/customers/many').end());
    expect(Object.keys(many.headers).filter((name) => /^x\d+$/.test(name))).toHaveLength(4_000);
    expect((await whole(ask(one, '/customers').end())).status).toBe(200);
  });

  it('answers HEAD without a body', async () => {
    const { status, body } = await get('/customers', { ':method': 'HEAD' });
    expect([200, 405]).toContain(status);
    expect(body.length).toBe(0);
  });

  it('resets the stream when the backend breaks off, and other streams of the connection continue', async () => {
    const one = session();
    const slow = whole(ask(one, '/customers/late').end());
    await expect(whole(ask(one, '/customers/broken').end())).rejects.toThrow(/closed with error code|aborted/i);
    expect((await slow).body.toString()).toBe('late');
  });

  it('ends the call to the backend when the client resets its stream', async () => {
    const stream = ask(session(), '/customers/never').end();
    await once(stream, 'data');
    stream.close(8);
    await eventually('the backend request is aborted', () => backend.requests.at(-1)?.aborted === true);
  });

  it('refuses an oversized body before it is sent in full, and keeps serving the connection', async () => {
    const one = session();
    const stream = ask(one, '/customers', { ':method': 'POST', 'content-length': 50 * 1024 * 1024 });
    stream.on('error', () => undefined);
    stream.write(Buffer.alloc(64 * 1024));
    const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders];
    expect(headers[':status']).toBe(413);
    expect((await whole(ask(one, '/customers').end())).status).toBe(200);
  });

  it('finishes running requests on shutdown, ignores streams after GOAWAY and closes the connection', async () => {
    const one = session();
    const raw = await connectRawHttp2(Number(new URL(trailgate.gatewayUrl).port));
    const request = (path: string): Buffer =>
      fieldBlock([
        [':method', 'GET'],
        [':scheme', 'https'],
        [':path', `/api/v1${path}`],
        [':authority', 'a.example'],
        ['authorization', `Bearer ${secret}`],
      ]);
    raw.send(frame(FRAME.headers, END_HEADERS | END_STREAM, 1, request('/customers/late')));
    await eventually('the backend gets the raw request', () => backend.requests.at(-1)?.url === '/customers/late');
    const before = backend.requests.length;
    const late = whole(ask(one, '/customers/late').end());
    await eventually('the backend gets the request', () => backend.requests.length === before + 1);
    const stopped = trailgate.stop();
    await eventually('GOAWAY arrives', () => raw.frames.some(({ type }) => type === FRAME.goAway));
    raw.send(frame(FRAME.headers, END_HEADERS | END_STREAM, 3, request('/customers')));
    expect((await late).body.toString()).toBe('late');
    expect((await stopped).code).toBe(0);
    expect(one.closed || one.destroyed).toBe(true);
    expect([raw.answer(1).text, raw.answer(3).begun]).toEqual(['late', false]);
    expect(backend.requests).toHaveLength(before + 1);
  });
});
