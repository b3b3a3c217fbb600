/** Requests reach a backend byte for byte, and responses reach the client. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { gzipSync } from 'node:zlib';
import { json, type RecordedRequest } from '../support/backend.js';
import { send, type SendOptions } from '../support/http.js';
import { startProxied, type Proxied } from '../support/proxied.js';

let gateway: Proxied;

beforeAll(async () => {
  gateway = await startProxied();
});
afterAll(() => gateway.stop());

/** Sends a request, and returns the request that the backend received. */
async function forwarded(path: string, options: SendOptions = {}, through = gateway): Promise<RecordedRequest> {
  through.backend.requests.length = 0;
  const answer = await through.send(path, options);
  expect(answer.status).toBe(200);
  expect(through.backend.requests).toHaveLength(1);
  return through.backend.requests[0] as RecordedRequest;
}

/** Converts `Name: value` lines to a flat list of names and values. */
function fieldLines(lines: string): string[] {
  return lines
    .trim()
    .split('\n')
    .flatMap((line) => line.trim().split(': '));
}

describe('path and query', () => {
  it.each([
    '/customers',
    '/customers?',
    '/customers?limit=2&cursor=a%20b+c%2B%E2%82%AC',
    '/customers?a=1&a=2&&b=&=c&d',
    '/customers?filter[name]=x&sort=-name,id&q=a;b',
    '/customers?next=/../../etc//passwd%00%2f%5c%0d%0a',
    '/customers?url=http://a/b?c=d&e=%',
    "/customers?quote='!$()*~&%22%3C%3E%7C%5C%5E%60%7B%7D=1",
    '/customers?q={a|b}^`\\',
    '/customers/cus_1',
    '/customers/J%C3%BCrgen%20M%c3%bcller',
    '/customers/%63us%5F1?x',
    "/customers/a-._~!$&'()*+,=:@",
    '/files/report.v2%2Epdf',
  ])('%s arrives as it was sent', async (path) => {
    expect((await forwarded(path)).url).toBe(path);
  });

  it("a target's own path is kept as a prefix", async () => {
    const prefixed = await startProxied({ targetPath: '/internal/v2/' });
    try {
      expect((await forwarded('/customers?limit=2', {}, prefixed)).url).toBe('/internal/v2/customers?limit=2');
      expect((await forwarded('/customers/a%20b', {}, prefixed)).url).toBe('/internal/v2/customers/a%20b');
    } finally {
      await prefixed.stop();
    }
  });
});

describe('method and body', () => {
  it.each([
    ['POST', '/customers'],
    ['PUT', '/customers/1'],
    ['PATCH', '/customers/1'],
    ['DELETE', '/customers/1'],
    ['GET', '/customers'],
  ])('%s with a body arrives with that body', async (method, path) => {
    const body = Buffer.from([0, 1, 0xff, 0x0d, 0x0a, 0x80, ...Buffer.from('{"not": json')]);
    const received = await forwarded(path, { method, body, headers: { 'Content-Type': 'application/json' } });
    expect(received).toMatchObject({ method, url: path, body });
    expect(received.headers).toMatchObject({
      'content-length': String(body.length),
      'content-type': 'application/json',
    });
  });

  it.each([
    ['a compressed body', gzipSync('{"a":1}'), { 'content-type': 'application/json', 'content-encoding': 'gzip' }],
    ['a body in Latin-1', Buffer.from('caf\xe9', 'latin1'), { 'content-type': 'text/csv; charset=iso-8859-1' }],
    ['a coding that nobody knows', Buffer.from('x'), { 'content-encoding': 'x-own, gzip' }],
  ])('%s arrives undecoded, with the headers that describe it', async (_what, body, headers) => {
    const received = await forwarded('/customers', { method: 'POST', body, headers });
    expect(received).toMatchObject({ body, headers });
  });

  it.each([
    ['POST', '/customers'],
    ['DELETE', '/customers/1'],
    ['GET', '/customers'],
  ])('%s without a body arrives without one', async (method, path) => {
    const received = await forwarded(path, { method });
    expect(received).toMatchObject({ method, bodyBytes: 0 });
    expect(received.headers['transfer-encoding']).toBeUndefined();
  });

  it('an empty body keeps its Content-Length of zero', async () => {
    const received = await forwarded('/customers', { method: 'POST', headers: { 'Content-Length': '0' } });
    expect(received.headers['content-length']).toBe('0');
  });

  it('HEAD is forwarded as HEAD where GET is configured, and gets the headers of the backend', async () => {
    gateway.answerWith((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/csv', 'content-length': '12345' });
      response.end();
    });
    const answer = await gateway.send('/customers', { method: 'HEAD' });
    expect(gateway.backend.requests.map(({ method }) => method)).toEqual(['HEAD']);
    expect(answer).toMatchObject({ status: 200, headers: { 'content-length': '12345', 'content-type': 'text/csv' } });
    expect(answer.body).toHaveLength(0);
    gateway.answerWith(json({ ok: true }));
  });
});

describe('headers for the backend', () => {
  it('are the end-to-end headers of the client and those of the gateway, and no others', async () => {
    const { backend, key, port } = gateway;
    const received = await forwarded('/customers', {
      headers: fieldLines(`
        Host: api.example.com
        accept: text/csv
        X-CUSTOM: 1
        Cookie: a=1
        Cookie: b=2
        X-Account-Id: acc_evil
        x_api_scopes: *
        X-Forwarded-For: 1.2.3.4
        X-Forwarded-Port: 99
        Forwarded: for=evil
        X-Real-IP: 1.2.3.4
        Proxy-Authorization: Basic x
        TE: trailers
        Keep-Alive: timeout=5
        Connection: X-Hop, keep-alive
        X-Hop: 1
        Upgrade: h2c
        Via: 1.0 fred
        X-Request-Id: my-id
        X-HTTP-Method-Override: DELETE`),
    });
    const { account_id } = (await gateway.send('/usage')).json<{ account_id: string }>();
    const fields = received.rawHeaders.flatMap((name, at, all) =>
      at % 2 === 0 ? [[name.toLowerCase(), all[at + 1]]] : [],
    );
    const expected = [
      ['host', `127.0.0.1:${backend.port}`],
      ['connection', 'keep-alive'],
      ['accept', 'text/csv'],
      ['x-custom', '1'],
      ['cookie', 'a=1'],
      ['cookie', 'b=2'],
      ['x-account-id', account_id],
      ['x-api-key-id', key.id],
      ['x-api-scopes', '*'],
      ['x-request-id', 'my-id'],
      ['forwarded', 'for=127.0.0.1;host="api.example.com";proto=http'],
      ['x-forwarded-for', '127.0.0.1'],
      ['x-forwarded-host', 'api.example.com'],
      ['x-forwarded-proto', 'http'],
      ['x-forwarded-prefix', '/api/v1'],
      ['via', '1.0 fred, 1.1 trailgate'],
    ];
    expect(fields.toSorted()).toEqual(expected.toSorted());
    expect(port).toBeGreaterThan(0);
  });

  it('never contain the key, wherever the client has put it', async () => {
    const { key } = gateway;
    const received = await forwarded('/customers', {
      method: 'POST',
      headers: [
        'X-Api-Key',
        key.secret,
        'Cookie',
        `k=${key.secret}`,
        'api_key',
        key.secret,
        'Authorization2',
        gateway.authorization,
      ],
      body: '{}',
    });
    expect(JSON.stringify(received.rawHeaders)).not.toContain(key.secret.slice(8));
  });

  it('take the host from an absolute-form request target, not from the Host header', async () => {
    gateway.backend.requests.length = 0;
    const text = await gateway.raw(
      `GET http://api.example.com/api/v1/customers?x=1 HTTP/1.1\r\nHost: other.example\r\nAuthorization: ${gateway.authorization}\r\nConnection: close\r\n\r\n`,
    );
    expect(text).toMatch(/^HTTP\/1\.1 200 /);
    expect(gateway.backend.requests[0]).toMatchObject({
      url: '/customers?x=1',
      headers: { 'x-forwarded-host': 'api.example.com' },
    });
  });
});

describe('the trace context (W3C Trace Context)', () => {
  const trace = '0af7651916cd43dd8448eb211c80319c';

  it.each(['00', '01', 'ff'])('of the client continues with a new span and its flags %s', async (flags) => {
    const { headers } = await forwarded('/customers', {
      headers: { traceparent: `00-${trace}-b7ad6b7169203331-${flags}`, tracestate: 'vendor=1' },
    });
    expect(headers['traceparent']).toMatch(new RegExp(`^00-${trace}-[0-9a-f]{16}-${flags}$`));
    expect(headers['traceparent']).not.toContain('b7ad6b7169203331');
    expect(headers['tracestate']).toBe('vendor=1');
  });

  it.each([
    ['nothing'],
    [`00-${trace}-b7ad6b7169203331`],
    [`00-${trace.toUpperCase()}-b7ad6b7169203331-01`],
    [`00-${'0'.repeat(32)}-b7ad6b7169203331-01`],
    [`00-${trace}-${'0'.repeat(16)}-01`],
    [`ff-${trace}-b7ad6b7169203331-01`],
    [`00-${trace}-b7ad6b7169203331-01-extra`],
  ])('is dropped together with its state if the client sends %s', async (traceparent) => {
    const { headers } = await forwarded('/customers', { headers: { traceparent, tracestate: 'vendor=1' } });
    expect(headers['traceparent']).toBeUndefined();
    expect(headers['tracestate']).toBeUndefined();
  });

  it('is not created for a request without one, so that the backend decides about sampling', async () => {
    expect((await forwarded('/customers')).headers['traceparent']).toBeUndefined();
  });

  it('of a higher version continues as version 00', async () => {
    const { headers } = await forwarded('/customers', {
      headers: { traceparent: `01-${trace}-b7ad6b7169203331-01-extra`, tracestate: 'vendor=1' },
    });
    expect(headers).toMatchObject({
      traceparent: expect.stringMatching(new RegExp(`^00-${trace}-[0-9a-f]{16}-01$`)),
      tracestate: 'vendor=1',
    });
  });
});

describe('the request ID', () => {
  const idAnd = async (headers: Record<string, string>): Promise<[unknown, unknown]> => {
    gateway.backend.requests.length = 0;
    const answer = await gateway.send('/customers', { headers });
    return [answer.headers['x-request-id'], gateway.backend.requests[0]?.headers['x-request-id']];
  };

  it.each(['abc', 'req_1', 'a.b-c_D', 'x'.repeat(128)])('of the client is used: %s', async (id) => {
    expect(await idAnd({ 'X-Request-Id': id })).toEqual([id, id]);
  });

  it.each(['', ' ', 'a b', 'a/b', 'x'.repeat(129), 'ü', 'a"b', '{}', 'a,b'])(
    'of the client is replaced if it is invalid: "%s"',
    async (id) => {
      const [answered, forwardedId] = await idAnd({ 'X-Request-Id': id });
      expect(answered).toMatch(/^req_[0-9A-Za-z]{16,}$/);
      expect(forwardedId).toBe(answered);
    },
  );

  it('is sent with every response exactly once, whoever creates the response', async () => {
    gateway.answerWith((_request, response) => response.writeHead(200, { 'x-request-id': 'of-the-backend' }).end());
    const { url, trailgate, authorization } = gateway;
    const answers = {
      forwarded: await gateway.send('/customers'),
      usage: await gateway.send('/usage'),
      'no such path': await gateway.send('/nowhere'),
      'no path at all': await send(`${trailgate.gatewayUrl}/`),
      'no such method': await gateway.send('/customers', { method: 'DELETE' }),
      'no key': await send(`${url}/customers`),
      'broken path': await gateway.send('/customers/%ff'),
      openapi: await send(`${url}/openapi.json`),
      docs: await send(`${trailgate.gatewayUrl}/docs`),
      'long url': await gateway.send(`/customers?${'x'.repeat(9_000)}`),
      'large head': await send(`${url}/customers`, { headers: { authorization, x: 'x'.repeat(17_000) } }),
    };
    for (const [name, { rawHeaders }] of Object.entries(answers)) {
      const ids = rawHeaders.filter((_, at) => rawHeaders[at - 1]?.toLowerCase() === 'x-request-id' && at % 2 === 1);
      expect([name, ids]).toEqual([name, [expect.stringMatching(/^req_[0-9A-Za-z]{16,}$/)]]);
    }
    gateway.answerWith(json({ ok: true }));
  });
});

describe("the backend's response", () => {
  it.each([200, 201, 202, 203, 206, 207, 226, 300, 301, 302, 303, 307, 308])(
    'with status %i arrives with its headers, repeated headers and body unchanged',
    async (status) => {
      gateway.answerWith((_request, response) => {
        response.writeHead(status, [
          'Set-Cookie',
          'a=1',
          'Set-Cookie',
          'b=2',
          'Location',
          '/customers/1',
          'X-Custom',
          'caf\xe9',
          'ETag',
          'W/"1"',
          'Content-Type',
          'text/plain',
          'Content-Length',
          '4',
        ]);
        response.end(Buffer.from([0, 255, 13, 10]));
      });
      const answer = await gateway.send('/customers');
      expect(answer).toMatchObject({
        status,
        headers: {
          'set-cookie': ['a=1', 'b=2'],
          location: '/customers/1',
          'x-custom': 'caf\xe9',
          etag: 'W/"1"',
          'content-type': 'text/plain',
          'content-length': '4',
        },
      });
      expect([...answer.body]).toEqual([0, 255, 13, 10]);
    },
  );

  it('cannot set headers that are reserved for the gateway, or pass on hop-by-hop headers', async () => {
    gateway.answerWith((_request, response) => {
      response.writeHead(
        200,
        fieldLines(`
        RateLimit-Policy: evil
        RateLimit: evil
        X-RateLimit-Remaining: 0
        X-Should-Retry: false
        X-Account-Id: acc
        Connection: X-Hop, close
        X-Hop: 1
        Keep-Alive: timeout=1
        Upgrade: h2c`),
      );
      response.end('ok');
    });
    const answer = await gateway.send('/customers');
    const names = Object.keys(answer.headers).toSorted();
    expect(names).toEqual(['cache-control', 'connection', 'content-length', 'date', 'x-request-id']);
    expect(answer.headers['connection']).not.toContain('X-Hop');
    gateway.answerWith(json({ ok: true }));
  });
});
