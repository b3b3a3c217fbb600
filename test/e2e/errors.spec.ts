/** Every error is a problem document (RFC 9457) with a code of the catalog, whatever causes it. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ErrorCode } from '../../src/platform/problems/errors.js';
import { createSecret } from '../../src/keys/api-key-format.js';
import type { ApiKeyWithSecret } from '../support/admin.js';
import { startBackend, startRawBackend, type Backend, type RawBackend } from '../support/backend.js';
import { send, sendRaw, type Answer, type SendOptions } from '../support/http.js';
import { expectProblem, parseAnswer, type ProblemBody } from '../support/problem.js';
import { acquireTrailgate, type SharedTrailgate } from '../support/shared-program.js';

/** Error responses of the backend by path: status, content type and body. */
const FAILURES: Readonly<Record<string, readonly [number, string, string]>> = {
  '/customers/400': [400, 'application/json', '{"message":"The date is in the past","code":"date_past"}'],
  '/customers/401': [401, 'application/json', '{"message":"gateway not known"}'],
  '/customers/403': [403, 'text/plain', 'no'],
  '/customers/404': [404, 'text/html', '<h1>Not found</h1>'],
  '/customers/409': [409, 'application/json', '{"error":"already booked"}'],
  '/customers/410': [410, 'application/json', '{}'],
  '/customers/412': [412, 'application/json', ''],
  '/customers/415': [415, 'application/json', '{"message":"only JSON"}'],
  '/customers/418': [418, 'text/plain', 'teapot'],
  '/customers/422': [422, 'application/json', '{"errors":[{"field":"email","message":"is not valid"}]}'],
  '/customers/429': [429, 'application/json', '{"message":"slow down"}'],
  '/customers/500': [500, 'text/html', '<pre>Error: secret\n    at /srv/app.js:1:1</pre>'],
  '/customers/502': [502, 'text/plain', 'bad gateway'],
  '/customers/503': [503, 'application/json', '{"message":"db db.internal:5432 down"}'],
  '/customers/504': [504, 'text/plain', ''],
};

let backend: Backend;
let broken: RawBackend;
let gateway: SharedTrailgate;
let key: ApiKeyWithSecret;
let port: number;

beforeAll(async () => {
  backend = await startBackend((request, response) => {
    const [status, type, body] = FAILURES[request.url ?? ''] ?? [200, 'application/json', '{}'];
    response.writeHead(status, { 'content-type': type }).end(body);
  });
  broken = await startRawBackend((socket) => {
    socket.once('data', (chunk) => {
      if (String(chunk).startsWith('GET /garbage')) socket.end('this is not HTTP\r\n\r\n');
      else if (String(chunk).startsWith('GET /reset')) socket.resetAndDestroy();
    });
  });
  const timeouts = { connect: '500ms', firstByte: '300ms', idle: '300ms' };
  gateway = await acquireTrailgate({
    backend: backend.url,
    config: {
      services: {
        backend: { maxBodyBytes: 1_000 },
        broken: { targets: [broken.url], timeouts },
        nowhere: { targets: ['http://127.0.0.1:9'] },
      },
      operations: [
        ...['garbage', 'reset', 'hang'].map((name) => ({ match: `GET /${name}`, service: 'broken', scopes: [] })),
        { match: 'GET /nowhere', service: 'nowhere', scopes: [] },
      ],
      plans: { three: { key: { minute: 3 } }, month: { account: { month: 1 } } },
    },
  });
  ({ key } = await gateway.admin.newKey());
  port = Number(new URL(gateway.gatewayUrl).port);
});
afterAll(async () => {
  await gateway.stop();
  await Promise.all([backend.stop(), broken.stop()]);
});

const call = (path: string, options: SendOptions = {}, secret = key.secret) =>
  send(`${gateway.gatewayUrl}/api/v1${path}`, { headers: { Authorization: `Bearer ${secret}` }, ...options });

describe('as an error of the HTTP parser,', () => {
  const LINE = 'GET /api/v1/customers HTTP/1.1';
  it.each<[string, ErrorCode, string]>([
    ['bytes that are not HTTP', 'bad_request', '\x16\x03\x01\x02\x00\x01\x00\r\n\r\n'],
    ['a header without a colon', 'bad_request', `${LINE}\r\nHost: a\r\nbroken\r\n\r\n`],
    ['a space before the colon', 'bad_request', `${LINE}\r\nHost : a\r\n\r\n`],
    ['a folded header', 'bad_request', `${LINE}\r\nHost: a\r\nX-A: b\r\n c\r\n\r\n`],
    ['no Host', 'bad_request', `${LINE}\r\n\r\n`],
    ['two Hosts', 'bad_request', `${LINE}\r\nHost: a\r\nHost: b\r\n\r\n`],
    ['two lengths', 'bad_request', `${LINE}\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab`],
    ['a length that is no number', 'bad_request', `${LINE}\r\nHost: a\r\nContent-Length: -1\r\n\r\n`],
    [
      'a length and chunks',
      'bad_request',
      `${LINE}\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    ['a method that does not exist', 'not_implemented', 'FETCH /api/v1/customers HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['another version of HTTP', 'bad_request', 'GET /api/v1/customers HTTP/9.9\r\nHost: a\r\n\r\n'],
    ['a NUL in a header', 'bad_request', `${LINE}\r\nHost: a\r\nX-A: b\0c\r\n\r\n`],
    ['a head of more than 16 KiB', 'headers_too_large', `${LINE}\r\nHost: a\r\nX-A: ${'a'.repeat(17_000)}\r\n\r\n`],
  ])('%s is answered with the problem %s and a closed connection', async (_what, code, bytes) => {
    const answer = parseAnswer(await sendRaw(port, bytes));
    expectProblem(answer, code);
    expect(answer.headers['connection']).toBe('close');
  });

  it('garbage after an answered request is answered with the problem bad_request', async () => {
    const socket = connect(port, '127.0.0.1');
    socket.write(`${LINE}\r\nHost: a\r\n\r\n`);
    const [first] = (await once(socket, 'data')) as [Buffer];
    expectProblem(parseAnswer(first.toString()), 'missing_api_key');
    socket.write('this is not HTTP\r\n\r\n');
    const [second] = (await once(socket, 'data')) as [Buffer];
    expectProblem(parseAnswer(second.toString()), 'bad_request');
    socket.destroy();
  });

  it('an unknown Expect value is not refused but ignored (RFC 9110 section 10.1.1)', async () => {
    expectProblem(await call('/nothing', { headers: { Expect: '200-maybe' } }), 'route_not_found');
  });
});

describe('as an error of the gateway,', () => {
  it.each<[string, ErrorCode, () => Promise<Answer>]>([
    ['a URL of more than 8 KiB', 'uri_too_long', () => call(`/customers?q=${'a'.repeat(8_200)}`)],
    ['a path that can be read in two ways', 'invalid_path', () => call('/customers/..%2fopen')],
    ['a path with broken escapes', 'invalid_path', () => call('/customers/%ff%zz')],
    ['a path that is not there', 'route_not_found', () => call('/nothing/here')],
    ['a path outside of the API', 'route_not_found', () => send(`${gateway.gatewayUrl}/admin/v1/accounts`)],
    ['the target *', 'bad_request', () => send(gateway.gatewayUrl, { method: 'GET', path: '*' })],
    ['a method that the path does not have', 'method_not_allowed', () => call('/customers', { method: 'DELETE' })],
    ['no key', 'missing_api_key', () => call('/customers', { headers: {} })],
    ['an unknown key', 'invalid_api_key', () => call('/customers', {}, createSecret('live'))],
    [
      'a body that is too large',
      'content_too_large',
      () => call('/customers', { method: 'POST', body: 'a'.repeat(1_001) }),
    ],
  ])('%s is answered with the problem %s', async (_what, code, request) => {
    expectProblem(await request(), code);
  });

  it('a 405 lists the methods in Allow', async () => {
    expect((await call('/customers', { method: 'DELETE' })).headers['allow']).toBe('GET, HEAD, POST');
    expect((await call('/usage', { method: 'POST' })).headers['allow']).toBe('GET, HEAD');
  });

  it('a missing scope is insufficient_scope', async () => {
    const { key: narrow } = await gateway.admin.newKey('unlimited', { scopes: ['files:read'] });
    expectProblem(await call('/customers', {}, narrow.secret), 'insufficient_scope');
  });

  it('a used-up minute is rate_limited and a used-up month quota_exceeded, each with its policy', async () => {
    const three = (await gateway.admin.newKey('three')).key.secret;
    for (let count = 0; count < 3; count++) expect((await call('/customers', {}, three)).status).toBe(200);
    const minute = await call('/customers', {}, three);
    expect(expectProblem(minute, 'rate_limited')['violated-policies']).toEqual(['key-minute']);
    expect(minute.headers['retry-after']).toMatch(/^[1-9]\d*$/);
    const month = (await gateway.admin.newKey('month')).key.secret;
    expect((await call('/customers', {}, month)).status).toBe(200);
    const refused = await call('/customers', {}, month);
    expect(expectProblem(refused, 'quota_exceeded')['violated-policies']).toEqual(['account-month']);
    expect(refused.headers['x-should-retry']).toBe('false');
  });

  it('a used-up month and a used-up minute differ in their type, which links to the page of the code', async () => {
    const three = (await gateway.admin.newKey('three')).key.secret;
    const month = (await gateway.admin.newKey('month')).key.secret;
    await Promise.all([three, three, three, month].map((secret) => call('/customers', {}, secret)));
    const types = new Map<string, string>();
    for (const secret of [three, month]) {
      const { code, type } = (await call('/customers', {}, secret)).json<ProblemBody>();
      types.set(code, type);
    }
    expect([...types.keys()]).toEqual(['rate_limited', 'quota_exceeded']);
    for (const [code, type] of types) {
      const page = await send(gateway.gatewayUrl + new URL(type).pathname);
      expect([page.status, page.text.includes(`<code>${code}</code>`)]).toEqual([200, true]);
    }
  });

  it('the request ID that the client sent is returned in the body and the header', async () => {
    const answer = await call('/nothing', { headers: { 'X-Request-Id': 'from-the-client.1' } });
    expect(expectProblem(answer, 'route_not_found').request_id).toBe('from-the-client.1');
  });

  it('the type is the URL of the reference page of the code', async () => {
    const { type } = expectProblem(await call('/nothing'), 'route_not_found');
    const page = await send(gateway.gatewayUrl + new URL(type).pathname);
    expect([page.status, page.headers['content-type']]).toEqual([200, expect.stringContaining('text/html')]);
    expect(page.text).toContain('route_not_found');
  });
});

describe('as an error of a backend,', () => {
  it.each<[string, ErrorCode, number]>([
    ['/customers/400', 'request_refused', 400],
    ['/customers/401', 'backend_bad_response', 502],
    ['/customers/403', 'backend_bad_response', 502],
    ['/customers/404', 'resource_not_found', 404],
    ['/customers/409', 'conflict', 409],
    ['/customers/410', 'resource_gone', 410],
    ['/customers/412', 'precondition_failed', 412],
    ['/customers/415', 'unsupported_media_type', 415],
    ['/customers/418', 'request_refused', 418],
    ['/customers/422', 'validation_failed', 422],
    ['/customers/429', 'backend_rate_limited', 429],
    ['/customers/500', 'backend_error', 500],
    ['/customers/502', 'backend_bad_response', 502],
    ['/customers/503', 'backend_unavailable', 503],
    ['/customers/504', 'backend_timeout', 504],
    ['/nowhere', 'backend_unreachable', 502],
    ['/garbage', 'backend_bad_response', 502],
    ['/reset', 'backend_bad_response', 502],
    ['/hang', 'backend_timeout', 504],
  ])('%s is answered with the problem %s, without internal details', async (path, code, status) => {
    const answer = await call(path);
    expectProblem(answer, code, status);
    expect(answer.text.replace(gateway.gatewayUrl, '')).not.toMatch(/<|secret|internal|127\.0\.0\.1|srv|ECONN|UND_ERR/);
  });
});

describe('HEAD', () => {
  it.each([
    ['/nothing', 404],
    ['/customers/..%2fopen', 400],
    ['/customers/404', 404],
    ['/customers/500', 500],
    ['/nowhere', 502],
    ['/customers?too-long', 414],
  ])('has the status and headers of the error, and no body: %s', async (path, status) => {
    const secret = key.secret;
    const raw = await sendRaw(
      port,
      `HEAD /api/v1${path.replace('too-long', 'a'.repeat(8_200))} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${secret}\r\nConnection: close\r\n\r\n`,
    );
    const answer = parseAnswer(raw);
    expect(answer.status).toBe(status);
    expect(answer.headers['content-type']).toBe('application/problem+json; charset=utf-8');
    expect(answer.headers['x-request-id']).toMatch(/^req_/);
    expect(answer.text).toBe('');
  });
});

describe('the admin API', () => {
  let adminPort: number;
  beforeAll(() => {
    adminPort = Number(new URL(gateway.adminUrl).port);
  });
  const admin = (method: string, path: string, options: SendOptions = {}) =>
    send(`${gateway.adminUrl}/admin/v1${path}`, {
      method,
      headers: { Authorization: `Bearer ${gateway.adminToken}`, 'Content-Type': 'application/json' },
      ...options,
    });

  it.each<[string, ErrorCode, () => Promise<Answer>]>([
    ['no token', 'missing_credentials', () => admin('GET', '/accounts', { headers: {} })],
    [
      'a wrong token',
      'invalid_credentials',
      () => admin('GET', '/accounts', { headers: { Authorization: 'Bearer no' } }),
    ],
    [
      'a broken header',
      'malformed_authorization',
      () => admin('GET', '/accounts', { headers: { Authorization: 'Bearer a b' } }),
    ],
    ['a path that is not there', 'route_not_found', () => admin('GET', '/nothing')],
    ['a method that is not there', 'method_not_allowed', () => admin('PUT', '/accounts')],
    ['an account that is not there', 'resource_not_found', () => admin('GET', '/accounts/acc_0')],
    ['a body that is not JSON', 'bad_request', () => admin('POST', '/accounts', { body: '{' })],
    [
      'a body of another type',
      'unsupported_media_type',
      () =>
        admin('POST', '/accounts', {
          headers: { Authorization: `Bearer ${gateway.adminToken}`, 'Content-Type': 'text/csv' },
          body: 'a;b',
        }),
    ],
    [
      'a body that is too large',
      'content_too_large',
      () => admin('POST', '/accounts', { body: { name: 'a'.repeat(70_000) } }),
    ],
    ['fields that are wrong', 'validation_failed', () => admin('POST', '/accounts', { body: { name: '' } })],
    ['a parameter that is wrong', 'invalid_parameter', () => admin('GET', '/accounts?limit=1000')],
    ['a cursor that is wrong', 'invalid_cursor', () => admin('GET', '/accounts?cursor=abc')],
  ])('answers %s with %s', async (_what, code, request) => {
    expectProblem(await request(), code);
  });

  it.each<[string, ErrorCode, string]>([
    ['bytes that are not HTTP', 'bad_request', '\x16\x03\x01\r\n\r\n'],
    ['no Host', 'bad_request', 'GET /livez HTTP/1.1\r\n\r\n'],
    [
      'a head that is too large',
      'headers_too_large',
      `GET /livez HTTP/1.1\r\nHost: a\r\nX: ${'a'.repeat(70_000)}\r\n\r\n`,
    ],
    ['an expectation that nobody knows', 'route_not_found', 'GET /no HTTP/1.1\r\nHost: localhost\r\nExpect: x\r\n\r\n'],
  ])('answers %s on a raw connection with %s', async (_what, code, bytes) => {
    expectProblem(parseAnswer(await sendRaw(adminPort, bytes, 300)), code);
  });
});
