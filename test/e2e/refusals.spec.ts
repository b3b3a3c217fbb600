/** A refusal is the same answer by whatever way a request comes: read by hand, read by Node, through Nest's router, over HTTP/2. */
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
  /** Name of a key that `makeKeys` makes, or the field itself. */
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

/** The fields of a request, flat; its target stands below the base path. */
type Way = (gateway: SharedTrailgate, method: string, target: string, fields: readonly string[]) => Promise<Told>;

interface Told {
  readonly status: number;
  readonly fields: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Sends a request in one piece on a connection of its own. */
function overSocket(version: string, more: readonly string[] = []): Way {
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
    const [status = '', ...told] = head.split('\r\n');
    const named: Record<string, string> = {};
    for (const line of told) {
      const colon = line.indexOf(': ');
      const name = line.slice(0, colon).toLowerCase();
      named[name] = (named[name] === undefined ? '' : `${named[name]}, `) + line.slice(colon + 2);
    }
    return { status: Number(status.split(' ')[1]), fields: named, body };
  };
}

const overHttp2: Way = async ({ gatewayUrl }, method, target, fields) => {
  const session = connectHttp2(gatewayUrl, { rejectUnauthorized: false });
  const named = fields.flatMap((name, at) => (at % 2 === 0 ? [[name.toLowerCase(), fields[at + 1] ?? '']] : []));
  const stream = session.request({ ':method': method, ':path': target, ...Object.fromEntries(named) });
  const [head] = (await once(stream.end(), 'response')) as [Record<string, string>];
  let body = '';
  for await (const chunk of stream.setEncoding('latin1')) body += String(chunk);
  session.close();
  const { ':status': status, ...told } = head;
  return { status: Number(status), fields: told, body };
};

/** The listener with a certificate speaks HTTP/2, the other one reads plain requests by hand. */
const WAYS: Readonly<Record<string, { way: Way; encrypted: boolean }>> = {
  'by hand': { way: overSocket('1.1'), encrypted: false },
  "by Node's parser": { way: overSocket('1.1', ['Content-Length', '0']), encrypted: false },
  "through Nest's router": { way: overSocket('1.0'), encrypted: false },
  'over HTTP/2': { way: overHttp2, encrypted: true },
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

/** Without what differs from one instant, one connection, one account or one listener to the next. */
function withoutChance({ status, fields, body }: Told): object {
  const same = (text: string) =>
    text
      .replaceAll(/\b(acc|key)_[0-9a-z]+/g, '$1_…')
      .replaceAll(/https?:\/\/[^/"]+\/docs/g, 'https://api.example.com/docs')
      .replaceAll(/198\.51\.100\.\d+/g, '198.51.100.…')
      .replaceAll(/(in |t=|"retry_after":)\d+/g, '$1…');
  const kept = Object.entries(fields).filter(
    ([name]) => !/^(date|connection|keep-alive|content-length|strict-transport-security)$/.test(name),
  );
  const told = kept.map(([name, value]) => [name, /^(retry-after|x-ratelimit-reset)$/.test(name) ? '…' : same(value)]);
  return { status, fields: Object.fromEntries(told.toSorted()) as object, body: same(body) };
}

describeWithOpenssl('a request that is refused', () => {
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

  /** @param address where the request comes from; by default one that nobody has used. */
  function ask(name: string, request: Request, address = `198.51.100.${addresses++ % 250}`): Promise<Told> {
    const { way, encrypted } = WAYS[name]!;
    const { path = '/customers', method = 'GET', key } = request;
    const authorization = key === undefined ? request.authorization : `Bearer ${keys.get(encrypted)?.get(key)}`;
    const fields = ['X-Forwarded-For', address, 'X-Request-Id', 'one-for.all'];
    if (authorization !== undefined) fields.push('Authorization', authorization);
    return way(gateways.get(encrypted)!, method, `/api/v1${path}`, fields);
  }

  function expectSame(code: ErrorCode, told: ReadonlyMap<string, Told>): void {
    const first = told.get('by hand') ?? { status: 0, fields: {}, body: '{}' };
    expect(JSON.parse(first.body)).toMatchObject({ status: ERRORS[code].status, code, request_id: 'one-for.all' });
    for (const [name, each] of told) {
      expect({ name, ...withoutChance(each) }).toEqual({ name, ...withoutChance(first) });
      expect(each.fields['content-length']).toBe(String(each.body.length));
    }
  }

  const byEveryWay = async (make: (name: string) => Promise<Told>): Promise<Map<string, Told>> => {
    const told = new Map<string, Told>();
    for (const name of Object.keys(WAYS)) told.set(name, await make(name));
    return told;
  };

  it.each(CASES)('for %s is told %s by every way', async (_what, code, request) => {
    expectSame(code, await byEveryWay((name) => ask(name, request)));
  });

  it('from an address that has sent too many wrong keys is told so by every way', async () => {
    const wrong = { authorization: `Bearer ${MALFORMED}` };
    const told = await byEveryWay(async (name) => {
      const address = `203.0.113.${Object.keys(WAYS).indexOf(name)}`;
      for (let time = 0; time < ATTEMPTS; time++) expect((await ask(name, wrong, address)).status).toBe(401);
      return ask(name, { key: 'plain' }, address);
    });
    expectSame('too_many_failed_attempts', told);
  });

  it.each(['/usage', '/us%61ge', '/openapi.json?a=%20'])('is not one for %s, by any way', async (path) => {
    const told = await byEveryWay((name) => ask(name, { path, key: 'plain' }));
    for (const { status } of told.values()) expect(status).toBe(200);
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
