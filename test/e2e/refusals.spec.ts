/**
 * A refusal is the same response over every transport: the gateway's own parser, Node's parser, Nest's router, and
 * HTTP/2.
 */
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createSecret } from '../../src/keys/api-key-format.js';
import { ERRORS, type ErrorCode } from '../../src/platform/problems/errors.js';
import { json, startBackend, type Backend } from '../support/backend.js';
import { makeCertificate } from '../support/certificates.js';
import { send } from '../support/http.js';
import { seriesOf } from '../support/metrics-text.js';
import { temporaryFolder } from '../support/processes.js';
import { describeWithOpenssl } from '../support/describe-with.js';
import { acquireTrailgate, type SharedTrailgate } from '../support/shared-program.js';

const ATTEMPTS = 4;
const CONFIG = {
  gateway: { failedAuthentication: { perMinute: ATTEMPTS }, trustedProxies: ['127.0.0.1'] },
  operations: [
    { match: 'GET /retired', service: 'backend', scopes: [], deprecation: '2024-01-01', sunset: '2025-01-01' },
    {
      match: 'GET /rehearsed',
      service: 'backend',
      scopes: [],
      deprecation: '2025-06-01',
      brownouts: [{ from: '2026-01-01T00:00:00Z', to: '2098-01-01T00:00:00Z' }],
    },
  ],
  plans: { 'no-minute': { key: { minute: 0 } }, 'no-month': { account: { month: 0 } } },
};

const UNKNOWN = createSecret('live');
const MALFORMED = UNKNOWN.slice(0, -1) + (UNKNOWN.endsWith('A') ? 'B' : 'A');

interface Request {
  readonly path?: string;
  readonly method?: string;
  /** Name of a key from `makeKeys`. If missing, `authorization` is the whole field value. */
  readonly key?: string;
  readonly authorization?: string;
}

const CASES: readonly [what: string, ErrorCode, Request][] = [
  ['no key', 'missing_api_key', {}],
  ['another scheme', 'missing_api_key', { authorization: 'Basic eDp5' }],
  ['no key behind the scheme', 'missing_api_key', { authorization: 'Bearer' }],
  ['a wrong checksum', 'invalid_api_key', { authorization: `Bearer ${MALFORMED}` }],
  ['a key that nobody has', 'invalid_api_key', { authorization: `Bearer ${UNKNOWN}` }],
  ['the same, remembered', 'invalid_api_key', { authorization: `Bearer ${UNKNOWN}` }],
  ['a revoked key', 'revoked_api_key', { key: 'revoked' }],
  ['a key in the URL', 'missing_api_key', { path: `/customers?key=${UNKNOWN}` }],
  ['a key in the URL and in its place', 'malformed_authorization', { path: `/customers?key=${UNKNOWN}`, key: 'plain' }],
  ['a paused key', 'key_paused', { key: 'paused' }],
  ['a key of other addresses', 'ip_not_allowed', { key: 'elsewhere' }],
  ['a suspended account', 'account_suspended', { key: 'suspended' }],
  ['a scope that is missing', 'insufficient_scope', { key: 'narrow' }],
  ['a used-up minute', 'rate_limited', { key: 'minute' }],
  ['the same, remembered', 'rate_limited', { key: 'minute' }],
  ['a used-up month', 'quota_exceeded', { key: 'month' }],
  ['no such path', 'route_not_found', { path: '/nothing/%C3%A4%22', key: 'plain' }],
  ['no such path, nothing encoded', 'route_not_found', { path: '/nothing?a=1', key: 'plain' }],
  ['another method', 'method_not_allowed', { path: '/open', method: 'DELETE', key: 'plain' }],
  [
    "another method of the gateway's own page",
    'method_not_allowed',
    { path: '/usage', method: 'DELETE', key: 'plain' },
  ],
  ["something below the gateway's own page", 'route_not_found', { path: '/usage/', key: 'plain' }],
  ['a path of two readings', 'invalid_path', { path: '/customers//1', key: 'plain' }],
  ['a retired operation', 'operation_sunset', { path: '/retired', key: 'plain' }],
  ['a brown-out', 'operation_brownout', { path: '/rehearsed', key: 'plain' }],
];

/** Sends a request. `fields` is a flat list of names and values. `target` includes the base path. */
type Sender = (gateway: SharedTrailgate, method: string, target: string, fields: readonly string[]) => Promise<Reply>;

interface Reply {
  readonly status: number;
  readonly fields: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Returns a sender that writes a request in one piece on a connection of its own. */
function overSocket(version: string, more: readonly string[] = []): Sender {
  return async ({ gatewayUrl }, method, target, fields) => {
    const { port, host } = new URL(gatewayUrl);
    const socket = connect(Number(port), '127.0.0.1');
    const all = ['Host', host, ...fields, ...more];
    const lines = all.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${all[at + 1]}\r\n`] : []));
    socket.write(`${method} ${target} HTTP/${version}\r\n${lines.join('')}Connection: close\r\n\r\n`);
    let text = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
    await once(socket, 'close');
    const [head = '', body = ''] = text.split('\r\n\r\n');
    const [status = '', ...headerLines] = head.split('\r\n');
    const named: Record<string, string> = {};
    for (const line of headerLines) {
      const colon = line.indexOf(': ');
      const name = line.slice(0, colon).toLowerCase();
      named[name] = (named[name] === undefined ? '' : `${named[name]}, `) + line.slice(colon + 2);
    }
    return { status: Number(status.split(' ')[1]), fields: named, body };
  };
}

const overHttp2: Sender = async ({ gatewayUrl }, method, target, fields) => {
  const session = connectHttp2(gatewayUrl, { rejectUnauthorized: false });
  const named = fields.flatMap((name, at) => (at % 2 === 0 ? [[name.toLowerCase(), fields[at + 1] ?? '']] : []));
  const stream = session.request({ ':method': method, ':path': target, ...Object.fromEntries(named) });
  const [head] = (await once(stream.end(), 'response')) as [Record<string, string>];
  let body = '';
  for await (const chunk of stream.setEncoding('latin1')) body += String(chunk);
  session.close();
  const { ':status': status, ...headers } = head;
  return { status: Number(status), fields: headers, body };
};

/** Only the encrypted listener speaks HTTP/2. The other one reads plain requests with the gateway's own parser. */
const TRANSPORTS: Readonly<Record<string, { sender: Sender; encrypted: boolean }>> = {
  'by hand': { sender: overSocket('1.1'), encrypted: false },
  "by Node's parser": { sender: overSocket('1.1', ['Content-Length', '0']), encrypted: false },
  "through Nest's router": { sender: overSocket('1.0'), encrypted: false },
  'over HTTP/2': { sender: overHttp2, encrypted: true },
};

async function makeKeys({ admin }: SharedTrailgate): Promise<ReadonlyMap<string, string>> {
  const suspended = await admin.newKey();
  const revoked = await admin.newKey();
  const paused = await admin.newKey();
  const keys = {
    suspended,
    revoked,
    paused,
    plain: await admin.newKey('unlimited', { scopes: ['customers:read'] }),
    narrow: await admin.newKey('unlimited', { scopes: ['files:read'] }),
    elsewhere: await admin.newKey('unlimited', { allowed_ips: ['192.0.2.1'] }),
    minute: await admin.newKey('no-minute'),
    month: await admin.newKey('no-month'),
  };
  await admin.updateAccount(suspended.account.id, { status: 'suspended' });
  await admin.revokeKey(revoked.key.id);
  await admin.pauseKey(paused.key.id);
  return new Map(Object.entries(keys).map(([name, { key }]) => [name, key.secret]));
}

/** Replaces or removes values that depend on the time, connection, account or listener. */
function normalize({ status, fields, body }: Reply): object {
  const same = (text: string) =>
    text
      .replaceAll(/\b(acc|key)_[0-9a-z]+/g, '$1_…')
      .replaceAll(/https?:\/\/[^/"]+\/docs/g, 'https://api.example.com/docs')
      .replaceAll(/198\.51\.100\.\d+/g, '198.51.100.…')
      .replaceAll(/(in |t=|"retry_after":)\d+/g, '$1…');
  const kept = Object.entries(fields).filter(
    ([name]) => !/^(date|connection|keep-alive|content-length|strict-transport-security)$/.test(name),
  );
  const pairs = kept.map(([name, value]) => [name, /^(retry-after|x-ratelimit-reset)$/.test(name) ? '…' : same(value)]);
  return { status, fields: Object.fromEntries(pairs.toSorted()) as object, body: same(body) };
}

describeWithOpenssl('a refusal', () => {
  let backend: Backend;
  const gateways = new Map<boolean, SharedTrailgate>();
  const keys = new Map<boolean, ReadonlyMap<string, string>>();
  let addresses = 0;

  beforeAll(async () => {
    backend = await startBackend(json({}));
    const { cert, key } = makeCertificate(temporaryFolder('refusals'));
    const tls = { cert, key };
    for (const encrypted of [false, true]) {
      const gateway = { ...CONFIG.gateway, ...(encrypted ? { tls } : {}) };
      gateways.set(encrypted, await acquireTrailgate({ backend: backend.url, config: { ...CONFIG, gateway } }));
    }
    for (const [encrypted, gateway] of gateways) keys.set(encrypted, await makeKeys(gateway));
  });
  afterAll(async () => {
    for (const gateway of gateways.values()) await gateway.stop();
    await backend.stop();
  });

  /**
   * Sends a request over a transport. @param address Client address. The default is one that no recent request has
   * used.
   */
  function ask(name: string, request: Request, address = `198.51.100.${addresses++ % 250}`): Promise<Reply> {
    const { sender, encrypted } = TRANSPORTS[name]!;
    const { path = '/customers', method = 'GET', key } = request;
    const authorization = key === undefined ? request.authorization : `Bearer ${keys.get(encrypted)?.get(key)}`;
    const fields = ['X-Forwarded-For', address, 'X-Request-Id', 'one-for.all'];
    if (authorization !== undefined) fields.push('Authorization', authorization);
    return sender(gateways.get(encrypted)!, method, `/api/v1${path}`, fields);
  }

  function expectSame(code: ErrorCode, replies: ReadonlyMap<string, Reply>): void {
    const first = replies.get('by hand') ?? { status: 0, fields: {}, body: '{}' };
    expect(JSON.parse(first.body)).toMatchObject({ status: ERRORS[code].status, code, request_id: 'one-for.all' });
    for (const [name, each] of replies) {
      expect({ name, ...normalize(each) }).toEqual({ name, ...normalize(first) });
      expect(each.fields['content-length']).toBe(String(each.body.length));
    }
  }

  const overEveryTransport = async (make: (name: string) => Promise<Reply>): Promise<Map<string, Reply>> => {
    const replies = new Map<string, Reply>();
    for (const name of Object.keys(TRANSPORTS)) replies.set(name, await make(name));
    return replies;
  };

  it.each(CASES)('for %s is %s, with the same response over every transport', async (_what, code, request) => {
    expectSame(code, await overEveryTransport((name) => ask(name, request)));
  });

  it('for an address that sent too many wrong keys is the same response over every transport', async () => {
    const wrong = { authorization: `Bearer ${MALFORMED}` };
    const replies = await overEveryTransport(async (name) => {
      const address = `203.0.113.${Object.keys(TRANSPORTS).indexOf(name)}`;
      for (let time = 0; time < ATTEMPTS; time++) expect((await ask(name, wrong, address)).status).toBe(401);
      return ask(name, { key: 'plain' }, address);
    });
    expectSame('too_many_failed_attempts', replies);
  });

  it.each(['/usage', '/us%61ge', '/openapi.json?a=%20'])('does not happen for %s with a valid key', async (path) => {
    const replies = await overEveryTransport((name) => ask(name, { path, key: 'plain' }));
    for (const { status } of replies.values()) expect(status).toBe(200);
  });

  it('is counted by its code, and reaches no backend', async () => {
    const metrics = async () => seriesOf((await send(`${gateways.get(false)?.adminUrl}/metrics`)).text);
    const before = await metrics();
    const codes = new Map<string, number>();
    for (const [, code, request] of CASES) {
      for (const name of ['by hand', "by Node's parser", "through Nest's router"]) {
        await ask(name, request);
        codes.set(code, (codes.get(code) ?? 0) + 1);
      }
    }
    const after = await metrics();
    for (const [code, count] of codes) {
      const series = `trailgate_refusals_total{code="${code}",fault="client"}`;
      expect({ code, count: (after.get(series) ?? 0) - (before.get(series) ?? 0) }).toEqual({ code, count });
    }
    expect(backend.requests).toHaveLength(0);
  });
});
