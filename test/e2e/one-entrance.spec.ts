/**
 * All requests pass the same checks on arrival, whether our parser or Node reads them, and over TLS and HTTP/2.
 * Responses are equal byte by byte, except for fields about the connection.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createSecret } from '../../src/keys/api-key-format.js';
import { json } from '../support/backend.js';
import { startEdge, TRANSPORTS, type Edge, type EdgeRequest, type Transport } from '../support/edge.js';
import type { Answer } from '../support/http.js';
import { eventually } from '../support/processes.js';
import type { OwnProxied } from '../support/proxied.js';

const ORIGIN = 'https://app.example.com';
const CONFIG = {
  operations: [
    { match: 'OPTIONS /things', service: 'backend', scopes: [] },
    { match: 'POST /things', service: 'backend', scopes: [] },
    { match: 'GET /secret', service: 'backend', scopes: ['files:read'] },
    { match: 'GET /live', service: 'backend', scopes: ['files:read'], websocket: true },
    { match: 'GET /retired', service: 'backend', scopes: [], deprecation: '2024-01-01', sunset: '2025-01-01' },
    { match: 'GET /old', service: 'backend', scopes: [], deprecation: '2025-01-01', sunset: '2099-01-01' },
  ],
};
const CORS = { origins: [ORIGIN], allowCredentials: true, exposedHeaders: ['X-Request-Id'] };
const UNKNOWN = createSecret('live');
const long = (length: number) => `/api/v1/open?q=${'x'.repeat(length - '/api/v1/open?q='.length)}`;

interface Case extends EdgeRequest {
  readonly status: number;
  /** Uses a key with few scopes. */
  readonly isNarrow?: boolean;
  /** Transports that can carry such a request. The default is all of them. */
  readonly transports?: readonly Transport[];
}

const HTTP1 = TRANSPORTS.filter((transport) => transport !== 'over HTTP/2');
const options = (fields: readonly string[], more: object = {}) => ({ method: 'OPTIONS', fields, ...more });
const preflight = ['Origin', ORIGIN, 'Access-Control-Request-Method', 'GET'];
const MANY = Array.from({ length: 201 }, (_, at) => [`X-${at}`, '1']).flat();
const withBody = (method: string) => ({ method, fields: ['Content-Length', '2'], body: '{}' });

const CASES: Readonly<Record<string, Case>> = {
  'a request that is served': { status: 200 },
  'one with a query': { status: 200, target: '/api/v1/open?limit=2' },
  'one with a query as browsers send it': { status: 200, target: '/api/v1/open?q={a|b}^`\\[]' },
  'one with a body': { status: 200, target: '/api/v1/things', ...withBody('POST') },
  'one of HEAD': { status: 200, method: 'HEAD' },
  'one of a page': { status: 200, fields: ['Origin', ORIGIN] },
  'one of another page': { status: 200, fields: ['Origin', 'https://elsewhere.example'] },
  'one of what will end': { status: 200, target: '/api/v1/old' },
  'the usage of the caller': { status: 200, target: '/api/v1/usage' },
  'the description': { status: 200, target: '/api/v1/openapi.json' },
  'no key': { status: 401, hasKey: false },
  'no key, of a page': { status: 401, hasKey: false, fields: ['Origin', ORIGIN] },
  'a key in the URL': { status: 400, target: `/api/v1/open?key=${UNKNOWN}` },
  'a missing scope': { status: 403, target: '/api/v1/secret', isNarrow: true },
  'no such path': { status: 404, target: '/api/v1/nothing' },
  'nothing below the base path': { status: 404, target: '/elsewhere' },
  'an error page that is not there': { status: 404, target: '/docs/errors/nothing' },
  'another method': { status: 405, method: 'DELETE' },
  'another method with a body': { status: 405, ...withBody('PUT') },
  'a method that nobody knows': { status: 501, method: 'PURGE' },
  'the same with a body': { status: 501, ...withBody('PURGE') },
  'what has been retired': { status: 410, target: '/api/v1/retired' },
  'the longest URL': {
    status: 200,
    target: long(8_192),
    transports: TRANSPORTS.filter((transport) => transport !== 'own parser'),
  },
  'a longer one': { status: 414, target: long(8_193) },
  'a path of two readings': { status: 400, target: '/api/v1/open//x' },
  'a path that is no UTF-8': { status: 400, target: '/api/v1/%ff' },
  'the same beside the base path': { status: 400, target: '/elsewhere/%ff' },
  'a query that no URL has': { status: 400, target: '/api/v1/open?q=<b>' },
  'a fragment': { status: 400, target: '/api/v1/open?q=1#x' },
  'a fragment behind the path': { status: 400, target: '/api/v1/open#x' },
  'a target that is no path': { status: 400, target: '*', transports: HTTP1 },
  'a host that is none': { status: 400, host: 'a,b' },
  'two hosts': { status: 400, fields: ['Host', 'b'] },
  'too many fields': { status: 431, fields: MANY, transports: HTTP1 },
  'an absolute target': { status: 200, target: 'http://a/api/v1/open', transports: HTTP1 },
  'an absolute target of no host': { status: 400, target: 'http://a,b/api/v1/open', transports: HTTP1 },
  'another coding': {
    status: 501,
    ...withBody('POST'),
    fields: ['Transfer-Encoding', 'gzip, chunked'],
    transports: HTTP1,
  },
  'chunked, twice': {
    status: 400,
    method: 'POST',
    fields: ['Transfer-Encoding', 'chunked, chunked'],
    transports: HTTP1,
  },
  'OPTIONS of the server': { status: 204, ...options([], { target: '*' }) },
  'OPTIONS of an operation': { status: 200, ...options([], { target: '/api/v1/things' }) },
  'OPTIONS that go no further': { status: 204, ...options(['Max-Forwards', '0'], { target: '/api/v1/things' }) },
  'OPTIONS that go nobody knows how far': { status: 400, ...options(['Max-Forwards', 'x']) },
};

/** Fields of a WebSocket handshake. Node handles handshakes separately from other requests. */
const HANDSHAKE = [
  'Connection',
  'Upgrade',
  'Upgrade',
  'websocket',
  'Sec-WebSocket-Version',
  '13',
  'Sec-WebSocket-Key',
  'dGhlIHNhbXBsZSBub25jZQ==',
];
const HANDSHAKES: Readonly<Record<string, Case>> = {
  'without a key': { status: 401, target: '/api/v1/live', hasKey: false },
  'of a page, without a key': { status: 401, target: '/api/v1/live', hasKey: false, fields: ['Origin', ORIGIN] },
  'with a missing scope': { status: 403, target: '/api/v1/live', isNarrow: true },
  'with a host that is none': { status: 400, target: '/api/v1/live', host: 'a,b' },
  'with a query that no URL has': { status: 400, target: '/api/v1/live?q=<b>' },
};

/** Preflights. They have their own table, because they need a CORS configuration. */
const PREFLIGHTS: Readonly<Record<string, Case>> = {
  'a preflight': { status: 204, hasKey: false, ...options(preflight) },
  'a preflight of another page': {
    status: 204,
    hasKey: false,
    ...options(['Origin', 'https://elsewhere.example', ...preflight.slice(2)]),
  },
  'a preflight of nothing': { status: 204, hasKey: false, ...options(preflight, { target: '/api/v1/nothing' }) },
  'a preflight below another base path': {
    status: 204,
    hasKey: false,
    ...options(preflight, { target: '/elsewhere' }),
  },
  'a preflight of a path of two readings': {
    status: 204,
    hasKey: false,
    ...options(preflight, { target: '/api/v1/open//x' }),
  },
  'a preflight with a host that is none': { status: 400, hasKey: false, ...options(preflight, { host: 'a,b' }) },
};

const OF_THE_CONNECTION = /^(date|connection|keep-alive|content-length|transfer-encoding|strict-transport-security)$/;

/** Replaces values that depend on the connection, listener, key or time. */
function normalize(text: string): string {
  return text
    .replaceAll(/https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\]|0\.0\.0\.0)(?::\d+)?/g, 'https://api.example.com')
    .replaceAll(/\b(acc|key|req)_[0-9a-z]+/g, '$1_…')
    .replaceAll(/\b(t|r)=\d+/g, '$1=…')
    .replaceAll(/"(used|remaining)":\d+|"resets_at":"[^"]+"/g, '…');
}

function fieldsOf({ rawHeaders }: Answer): string[] {
  const lines: string[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const [name = '', value = ''] = rawHeaders.slice(at, at + 2);
    if (OF_THE_CONNECTION.test(name.toLowerCase()) || name.startsWith(':')) continue;
    const isCount = /^(x-ratelimit-(remaining|reset)|retry-after|etag)$/i.test(name);
    lines.push(`${name}: ${isCount ? '…' : normalize(value)}`);
  }
  return lines;
}

/** Joins the values of each field under its lower-case name, for comparisons with HTTP/2. */
function joined(lines: readonly string[]): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const line of lines.toSorted()) {
    const [name = '', value = ''] = line.split(/: (.*)/s);
    const before = fields[name.toLowerCase()];
    fields[name.toLowerCase()] = before === undefined ? value : `${before}, ${value}`;
  }
  if (fields['vary'] !== undefined) fields['vary'] = fields['vary'].split(', ').toSorted().join(', ');
  return fields;
}

const narrowKeys = new Map<unknown, string>();

async function narrowKeyOf(edge: Edge, transport: Transport): Promise<string> {
  const { trailgate } = edge.gatewayFor(transport);
  const known = narrowKeys.get(trailgate);
  if (known !== undefined) return known;
  const { key } = await trailgate.admin.newKey('unlimited', { scopes: ['customers:read'] });
  narrowKeys.set(trailgate, key.secret);
  return key.secret;
}

async function ask(
  edge: Edge,
  transport: Transport,
  request: Case,
): Promise<{ answer: Answer; exact: object; loose: object }> {
  const narrow = request.isNarrow === true ? ['Authorization', `Bearer ${await narrowKeyOf(edge, transport)}`] : [];
  const fields = ['X-Request-Id', 'one-for.all', ...narrow, ...(request.fields ?? [])];
  const hasKey = narrow.length === 0 && request.hasKey !== false;
  const answer = await edge.sendRequest(transport, { ...request, fields, hasKey });
  const rest = { status: answer.status, body: normalize(answer.text) };
  const lines = fieldsOf(answer);
  return { answer, exact: { ...rest, lines }, loose: { ...rest, lines: joined(lines) } };
}

/** Expects the same response over all transports. @returns the response over the first one. */
async function expectSame(edge: Edge, request: Case): Promise<Answer> {
  const [firstTransport = 'Node parser', ...others] = request.transports ?? TRANSPORTS;
  const first = await ask(edge, firstTransport, request);
  expect({ transport: firstTransport, status: first.answer.status }).toEqual({
    transport: firstTransport,
    status: request.status,
  });
  for (const transport of others) {
    const { exact, loose } = await ask(edge, transport, request);
    const [wanted, is] = transport === 'over HTTP/2' ? [first.loose, loose] : [first.exact, exact];
    expect({ transport, ...is }).toEqual({ transport, ...wanted });
  }
  return first.answer;
}

describe.each([
  ['without CORS', undefined],
  ['with CORS', CORS],
])('%s', (_what, cors) => {
  let edge: Edge;
  beforeAll(async () => {
    edge = await startEdge({ config: { ...CONFIG, gateway: cors === undefined ? {} : { cors } } });
    edge.answerWith(json({ ok: true }));
  });
  afterAll(() => edge.stop());

  const cases = Object.entries(cors === undefined ? CASES : { ...CASES, ...PREFLIGHTS });
  it.each(cases)('%s gets the same response over every transport', (_name, request) => expectSame(edge, request));

  it.each(Object.entries(HANDSHAKES))('a handshake %s is refused like a plain request', async (_name, request) => {
    for (const transport of HTTP1) {
      const plain = await ask(edge, transport, request);
      const fields = [...(request.fields ?? []), ...HANDSHAKE];
      const handshake = await ask(edge, transport, { ...request, fields, isLast: false });
      expect(plain.answer.status).toBe(request.status);
      expect({ transport, ...handshake.exact }).toEqual({ transport, ...plain.exact });
      expect(handshake.answer.headers['connection']).toBe('close');
    }
  });
});

describe('the trace context', () => {
  const TRACE = '0af7651916cd43dd8448eb211c80319c';
  let edge: Edge;
  beforeAll(async () => {
    edge = await startEdge({ config: CONFIG });
    edge.answerWith(json({ ok: true }));
  });
  afterAll(() => edge.stop());

  /** Sends a GET, a POST and a WebSocket handshake. Returns the `traceparent` fields that the backend received. */
  async function tracesSeen(transport: Transport, fields: readonly string[]): Promise<unknown[]> {
    edge.answerWith(json({ ok: true }));
    await edge.sendRequest(transport, { fields });
    await edge.sendRequest(transport, {
      target: '/api/v1/things',
      ...withBody('POST'),
      fields: ['Content-Length', '2', ...fields],
    });
    if (transport !== 'over HTTP/2') {
      await edge.sendRequest(transport, { target: '/api/v1/live', fields: [...HANDSHAKE, ...fields], isLast: false });
    }
    return edge.receivedRequests(transport).map(({ headers }) => headers['traceparent']);
  }

  it.each(TRANSPORTS)('is not created for a client without a valid one, %s', async (transport) => {
    const count = transport === 'over HTTP/2' ? 2 : 3;
    expect(await tracesSeen(transport, [])).toEqual(Array.from({ length: count }, () => undefined));
    expect(await tracesSeen(transport, ['Traceparent', 'junk'])).toEqual(
      Array.from({ length: count }, () => undefined),
    );
  });

  it.each(TRANSPORTS)('keeps the trace ID and the unset sampled flag, with a new span ID, %s', async (transport) => {
    const seen = await tracesSeen(transport, ['Traceparent', `00-${TRACE}-00f067aa0ba902b7-00`]);
    expect(seen).toHaveLength(transport === 'over HTTP/2' ? 2 : 3);
    for (const each of seen) expect(each).toMatch(new RegExp(`^00-${TRACE}-(?!00f067aa0ba902b7)[0-9a-f]{16}-00$`));
  });
});

describe('while the gateway drains', () => {
  let edge: Edge<OwnProxied>;
  beforeAll(async () => {
    edge = await startEdge({ own: true, config: { ...CONFIG, gateway: { shutdown: { delay: '10m' } } } });
    edge.answerWith(json({ ok: true }));
    for (const { trailgate } of programs()) {
      trailgate.signal('SIGTERM');
      const isReady = async () => (await fetch(`${trailgate.adminUrl}/readyz`)).status === 200;
      await eventually('the program is not ready', async () => !(await isReady()));
    }
  });
  afterAll(async () => {
    // Kills the programs, because they would wait for the shutdown delay.
    await Promise.all(programs().map(({ trailgate }) => trailgate.kill9()));
    await edge.stop();
  });
  const programs = () => [...new Set(TRANSPORTS.map((transport) => edge.gatewayFor(transport)))];

  it('a request gets the same response over every transport, and the connection is closed', async () => {
    for (const name of ['a request that is served', 'no key', 'no such path', 'the usage of the caller'] as const) {
      const request = { ...CASES[name]!, isLast: false };
      expect((await expectSame(edge, request)).headers['connection']).toBe('close');
      for (const transport of HTTP1)
        expect((await ask(edge, transport, request)).answer.headers['connection']).toBe('close');
    }
  });
});
