/** A page in a browser can call the API only if the configuration allows its origin (Fetch standard, section 3.2). */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { json } from '../support/backend.js';
import { send, type Answer, type SendOptions } from '../support/http.js';
import { expectProblem } from '../support/problem.js';
import { startProxied, type Proxied } from '../support/proxied.js';

const APP = 'https://app.example.com';
const OTHER = 'https://evil.example';

let gateway: Proxied;

/** Sends a preflight as a browser does, without key and body. */
const preflight = (path: string, origin: string, method = 'GET', ...more: string[]): Promise<Answer> =>
  send(gateway.url + path, {
    method: 'OPTIONS',
    headers: ['Origin', origin, 'Access-Control-Request-Method', method, ...more],
  });

const call = (path: string, origin: string, options: SendOptions = {}): Promise<Answer> =>
  gateway.send(path, { ...options, headers: ['Origin', origin, ...((options.headers as string[] | undefined) ?? [])] });

/** Returns the CORS headers of a response, and `Vary`. */
function corsOf(answer: Answer): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(answer.headers).filter(([name]) => name.startsWith('access-control-') || name === 'vary'),
  );
}

/** Makes the backend send its own CORS headers. */
const withOwnCors = (): void =>
  gateway.answerWith((_request, response) => {
    response.writeHead(200, {
      'Access-Control-Allow-Origin': '*',
      'Access-Control-Allow-Credentials': 'true',
      'Access-Control-Expose-Headers': 'X-Secret',
      'Access-Control-Max-Age': '1',
      Vary: 'Accept',
    });
    response.end('{}');
  });

async function startWith(cors: object | undefined): Promise<void> {
  gateway = await startProxied({
    config: { gateway: { cors }, operations: [{ match: 'OPTIONS /files/{name}', service: 'backend', scopes: [] }] },
  });
}

describe('with a list of origins', () => {
  beforeAll(() => startWith({ origins: [APP, 'http://localhost:3000'], maxAge: '10m' }));
  afterAll(() => gateway.stop());
  beforeEach(() => gateway.answerWith(json({ ok: true })));

  it('a preflight without a key is answered with 204, without the backend and without quota headers', async () => {
    const answer = await preflight('/customers', APP, 'POST', 'Access-Control-Request-Headers', 'authorization');
    expect(answer.status).toBe(204);
    expect(corsOf(answer)).toEqual({
      'access-control-allow-origin': APP,
      'access-control-allow-methods': 'GET, HEAD, POST',
      'access-control-allow-headers': expect.stringMatching(/^Authorization, Content-Type, /),
      'access-control-max-age': '600',
      vary: 'Origin',
    });
    expect(answer.headers['x-request-id']).toMatch(/^req_/);
    expect(Object.keys(answer.headers).filter((name) => /ratelimit|content-length|www-auth/.test(name))).toEqual([]);
    expect(gateway.backend.requests).toHaveLength(0);
  });

  it.each([
    ['another origin', OTHER],
    ['the same host with another scheme', 'http://app.example.com'],
    ['the same host with another port', `${APP}:8443`],
    ['an origin that begins like it', `${APP}.evil.example`],
    ['an origin that ends like it', 'https://evil-app.example.com'],
    ['null', 'null'],
    ['an empty origin', ''],
    ['a list', `${APP}, ${OTHER}`],
    ['a star', '*'],
  ])('%s gets CORS headers neither with a preflight nor with a response', async (_what, origin) => {
    const refused = await preflight('/customers', origin);
    expect([refused.status, corsOf(refused)]).toEqual([204, { vary: 'Origin' }]);
    withOwnCors();
    const answer = await call('/customers', origin);
    expect([answer.status, corsOf(answer)]).toEqual([200, { vary: 'Accept, Origin' }]);
  });

  it.each([APP, 'http://localhost:3000'])('%s can read a response and its exposed headers', async (origin) => {
    withOwnCors();
    const answer = await call('/customers', origin);
    expect(corsOf(answer)).toEqual({
      'access-control-allow-origin': origin,
      'access-control-expose-headers': expect.stringMatching(/^RateLimit, RateLimit-Policy, .*Retry-After/),
      vary: 'Accept, Origin',
    });
  });

  it('a response to a request without Origin also has Vary: Origin, for caches', async () => {
    expect(corsOf(await gateway.send('/customers'))).toEqual({ vary: 'Origin' });
  });

  it.each<[string, () => Promise<Answer>, Parameters<typeof expectProblem>[1]]>([
    ['no key', () => send(`${gateway.url}/customers`, { headers: { Origin: APP } }), 'missing_api_key'],
    ['no such path', () => call('/nowhere', APP), 'route_not_found'],
    ['no such method', () => call('/open', APP, { method: 'DELETE' }), 'method_not_allowed'],
    ['a path that can be read in two ways', () => call('/customers/..', APP), 'invalid_path'],
    ['a URL that is too long', () => call(`/open?${'x'.repeat(9_000)}`, APP), 'uri_too_long'],
    ['a percent sign alone', () => call('/customers/%zz', APP), 'invalid_path'],
  ])('an error of the gateway can be read: %s', async (_what, ask, code) => {
    const answer = await ask();
    expectProblem(answer, code);
    expect(answer.headers['access-control-allow-origin']).toBe(APP);
    expect(answer.headers['access-control-expose-headers']).toMatch(/X-Request-Id/);
  });

  it('an error of the backend, a broken connection to it and the usage page can be read', async () => {
    gateway.answerWith(json({ message: 'no' }, 422));
    expect((await call('/customers', APP)).headers['access-control-allow-origin']).toBe(APP);
    gateway.answerWith((_request, response) => response.destroy());
    const dead = await call('/customers', APP);
    expect([dead.status, dead.headers['access-control-allow-origin']]).toEqual([502, APP]);
    expect((await call('/usage', APP)).headers['access-control-allow-origin']).toBe(APP);
  });

  it.each([
    ['/usage', 'GET, HEAD'],
    ['/openapi.json', 'GET, HEAD'],
    ['/customers/1', 'DELETE, GET, HEAD, PATCH, PUT'],
    ['/files/a', 'GET, HEAD, OPTIONS, PUT'],
  ])('a preflight of %s allows the methods %s', async (path, methods) => {
    expect((await preflight(path, APP)).headers['access-control-allow-methods']).toBe(methods);
    expect(gateway.backend.requests).toHaveLength(0);
  });

  it.each<[string, string, Parameters<typeof expectProblem>[1]]>([
    ['that does not exist', '/api/v1/nowhere', 'route_not_found'],
    ['of another version', '/api/v2/customers', 'route_not_found'],
    ['without the base path', '/customers', 'route_not_found'],
    ['that can be read in two ways', '/api/v1/customers/a%2Fb', 'invalid_path'],
    ['with a query that no URL has', '/api/v1/customers?q=<', 'bad_request'],
    ['that is too long', `/api/v1/customers?q=${'x'.repeat(9_000)}`, 'uri_too_long'],
  ])('a preflight of a path %s succeeds, and the error of the request can be read', async (_what, path, code) => {
    const { origin: gatewayOrigin } = new URL(gateway.url);
    const asked = await send(gatewayOrigin + path, {
      method: 'OPTIONS',
      headers: ['Origin', APP, 'Access-Control-Request-Method', 'GET'],
    });
    expect([asked.status, corsOf(asked)]).toEqual([
      204,
      {
        'access-control-allow-origin': APP,
        'access-control-allow-methods': expect.stringMatching(/^(DELETE, )?GET, HEAD, (OPTIONS, PATCH, )?POST/),
        'access-control-allow-headers': expect.stringMatching(/^Authorization, /),
        'access-control-max-age': '600',
        vary: 'Origin',
      },
    ]);
    const answer = await send(gatewayOrigin + path, { headers: ['Origin', APP, 'Authorization', 'Bearer x'] });
    expectProblem(answer, code);
    expect(answer.headers).toMatchObject({
      'access-control-allow-origin': APP,
      'access-control-expose-headers': expect.stringMatching(/X-Request-Id/),
    });
    expect(gateway.backend.requests).toHaveLength(0);
  });

  it.each(['/docs/errors/quota_exceeded', '/docs/errors', '/.well-known/webhooks/public-keys', '/api/v1/openapi.json'])(
    'every origin can read the public document %s',
    async (path) => {
      const answer = await send(new URL(path, gateway.url).href, { headers: ['Origin', OTHER] });
      expect([answer.status, answer.headers['access-control-allow-origin']]).toEqual([200, '*']);
    },
  );

  it('an OPTIONS request that is no preflight is handled like any other request', async () => {
    expectProblem(await call('/customers', APP, { method: 'OPTIONS' }), 'method_not_allowed');
    expect((await call('/files/a', APP, { method: 'OPTIONS' })).status).toBe(200);
    expectProblem(await send(`${gateway.url}/files/a`, { method: 'OPTIONS' }), 'missing_api_key');
    expect(gateway.backend.requests.map(({ method }) => method)).toEqual(['OPTIONS']);
  });
});

/** Returns the status and fields of a response to bytes that the gateway cannot read as a request. */
async function answerToUnread(bytes: string): Promise<Record<string, string>> {
  const text = await gateway.raw(bytes);
  const [head = ''] = text.split('\r\n\r\n');
  const [start = '', ...lines] = head.split('\r\n');
  const fields = lines.map((line) => [
    line.slice(0, line.indexOf(':')).toLowerCase(),
    line.slice(line.indexOf(':') + 2),
  ]);
  return { ...(Object.fromEntries(fields) as Record<string, string>), status: start.split(' ')[1] ?? '' };
}
const tooLarge = (...fields: string[]): string =>
  `GET /api/v1/customers HTTP/1.1\r\n${['Host: a', ...fields, `X: ${'x'.repeat(20_000)}`].join('\r\n')}\r\n\r\n`;

describe('the response to a request that is too large or malformed', () => {
  afterEach(() => gateway.stop());

  it('can be read only by listed origins if the headers are too large', async () => {
    await startWith({ origins: [APP], allowCredentials: true, exposedHeaders: ['X-Request-Id'] });
    expect(await answerToUnread(tooLarge(`oRiGin: ${APP}`, 'Cookie: a=b'))).toMatchObject({
      status: '431',
      vary: 'Origin',
      'access-control-allow-origin': APP,
      'access-control-allow-credentials': 'true',
      'access-control-expose-headers': 'X-Request-Id',
      'content-type': 'application/problem+json; charset=utf-8',
    });
    for (const fields of [[`Origin: ${OTHER}`], [`Origin: ${APP}.evil.example`], [], [`X-Origin: ${APP}`]]) {
      const answer = await answerToUnread(tooLarge(...fields));
      expect([answer['status'], answer['vary']]).toEqual(['431', 'Origin']);
      expect(answer['access-control-allow-origin']).toBeUndefined();
    }
    const broken = await answerToUnread(`GET / HTTP/1.1\r\nOrigin: ${APP}\r\nHost: a\r\nA B\r\n\r\n`);
    expect([broken['status'], broken['access-control-allow-origin']]).toEqual(['400', undefined]);
  });

  it('can be read by every origin with origins: *, and by none without configuration', async () => {
    await startWith({ origins: ['*'] });
    for (const bytes of [tooLarge(), 'nonsense\r\n\r\n', 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n']) {
      const answer = await answerToUnread(bytes);
      expect([answer['access-control-allow-origin'], answer['vary']]).toEqual(['*', undefined]);
    }
    await gateway.stop();
    await startWith(undefined);
    const answer = await answerToUnread(tooLarge(`Origin: ${APP}`));
    expect([answer['status'], answer['access-control-allow-origin'], answer['vary']]).toEqual([
      '431',
      undefined,
      undefined,
    ]);
  });

  it('can be read by a listed origin if the URL is too long or there are too many headers', async () => {
    await startWith({ origins: [APP] });
    for (const [path, fields, status] of [
      [`/customers?x=${'x'.repeat(9_000)}`, [], 414],
      ['/customers', Array.from({ length: 201 }, (_, index) => [`X-${index}`, '1']).flat(), 431],
    ] as const) {
      const answer = await call(path, APP, { headers: [...fields] });
      expect([answer.status, answer.headers['access-control-allow-origin']]).toEqual([status, APP]);
    }
  });
});

describe('with origins: *', () => {
  beforeAll(() =>
    startWith({ origins: ['*'], exposedHeaders: ['X-Total'], allowedHeaders: ['Authorization', 'X-Own'] }),
  );
  afterAll(() => gateway.stop());
  beforeEach(() => gateway.answerWith(json({ ok: true })));

  it('every origin can send requests and read responses, without Vary: Origin or an echoed origin', async () => {
    expect(corsOf(await preflight('/customers', OTHER))).toEqual({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET, HEAD, POST',
      'access-control-allow-headers': 'Authorization, X-Own',
      'access-control-max-age': '3600',
    });
    withOwnCors();
    const readable = { 'access-control-allow-origin': '*', 'access-control-expose-headers': 'X-Total', vary: 'Accept' };
    expect(corsOf(await call('/customers', OTHER))).toEqual(readable);
    expect(corsOf(await gateway.send('/customers'))).toEqual(readable);
  });
});

describe('with credentials', () => {
  beforeAll(() => startWith({ origins: [APP], allowCredentials: true }));
  afterAll(() => gateway.stop());

  it('a listed origin can send credentials, and another cannot', async () => {
    for (const answer of [await preflight('/customers', APP), await call('/customers', APP)])
      expect(answer.headers).toMatchObject({
        'access-control-allow-credentials': 'true',
        'access-control-allow-origin': APP,
      });
    for (const answer of [await preflight('/customers', OTHER), await call('/customers', OTHER)])
      expect(answer.headers['access-control-allow-credentials']).toBeUndefined();
  });
});

describe('without CORS configuration', () => {
  beforeAll(() => startWith(undefined));
  afterAll(() => gateway.stop());

  it('a preflight is refused, and CORS headers of the backend are passed on', async () => {
    const refused = await preflight('/customers', APP);
    expectProblem(refused, 'method_not_allowed');
    expect(corsOf(refused)).toEqual({});
    withOwnCors();
    expect(corsOf(await call('/customers', APP))).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-expose-headers': 'X-Secret',
      vary: 'Accept',
    });
  });
});
