/** The admin listener on a public network: host names, client addresses and connection limits. */
import { connect } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { startAdmin, type RunningAdmin } from '../support/admin-application.js';
import { testDatabase } from '../support/database.js';
import { send, sendRaw, type Answer } from '../support/http.js';
import { expectProblem } from '../support/problem.js';
import { OPERATOR } from '../support/stores.js';
import { accountToken, newMember, signIn, type Credentials } from '../support/signed-in.js';

const PLANS = '/admin/v1/plans';
const TARGETS = '/admin/v1/targets';
const HEALTH = ['/livez', '/readyz', '/metrics'];

describe('the admin listener', () => {
  let database: DatabaseHandle;
  let running: RunningAdmin | undefined;

  beforeAll(async () => {
    database = await testDatabase('sqlite');
  });
  afterAll(() => database.close());
  afterEach(async () => {
    await running?.close();
    running = undefined;
  });

  type Settings = NonNullable<NonNullable<Parameters<typeof startAdmin>[1]>['settings']>;
  const start = async (settings: Settings): Promise<RunningAdmin> =>
    (running = await startAdmin(database, { settings }));
  const ask = ({ url, admin }: RunningAdmin, path: string, headers: Record<string, string> = {}): Promise<Answer> =>
    send(url + path, { headers: { authorization: `Bearer ${admin.token}`, ...headers } });

  const PUBLIC: Settings = { url: 'https://admin.example.com', trustedProxies: ['127.0.0.1'] };

  it('does not count Basic credentials as failed token attempts', async () => {
    const admin = await start(PUBLIC);
    for (let count = 0; count < 15; count++) {
      expectProblem(await ask(admin, PLANS, { authorization: 'Basic eDp5' }), 'missing_credentials', 401);
    }
  });

  it('answers 421 to unknown host names (DNS rebinding), except on health and metrics', async () => {
    const admin = await start({ ...PUBLIC, hosts: ['trailgate-admin'] });
    for (const host of ['evil.example', 'admin.example.com.evil.example', '203.0.113.9:8081']) {
      for (const path of [PLANS, '/', '/admin/v1/nowhere']) {
        expectProblem(await ask(admin, path, { host }), 'misdirected_request', 421);
      }
    }
    for (const host of ['admin.example.com', 'ADMIN.example.com:443', 'trailgate-admin:8081', 'localhost']) {
      expect([host, (await ask(admin, PLANS, { host })).status]).toEqual([host, 200]);
    }
    // Probes and Prometheus connect by IP address.
    for (const path of HEALTH)
      expect((await send(admin.url + path, { headers: { host: '10.0.0.7:8081' } })).status).toBe(200);
  });

  it('sends security headers with every response, also with errors outside of any route', async () => {
    const admin = await start({ ...PUBLIC, hsts: { maxAge: '365d' } });
    const raw = await sendRaw(admin.port, 'GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n');
    const texts = [
      raw.toLowerCase(),
      ...(await Promise.all(
        [PLANS, '/readyz', '/nowhere', '/admin/v1/accounts/%ff'].map(async (path) => {
          const { rawHeaders } = await ask(admin, path);
          return rawHeaders.map((text, index) => text.toLowerCase() + (index % 2 === 0 ? ': ' : '\r\n')).join('');
        }),
      )),
      (
        await sendRaw(admin.port, 'GET /admin/v1/plans HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n')
      ).toLowerCase(),
    ];
    for (const text of texts) {
      for (const field of [
        'x-content-type-options: nosniff',
        'referrer-policy: no-referrer',
        'x-frame-options: deny',
        "content-security-policy: default-src 'none'",
        'cross-origin-opener-policy: same-origin',
        'cross-origin-resource-policy: same-origin',
        'strict-transport-security: max-age=31536000\r\n',
      ]) {
        expect(text).toContain(field);
      }
    }
  });

  it('sends no HSTS header if its URL is not HTTPS', async () => {
    const admin = await start({ hsts: { maxAge: '365d' } });
    expect((await ask(admin, PLANS)).headers).not.toHaveProperty('strict-transport-security');
  });

  it('trusts X-Forwarded-For only from trusted proxies, and only the address that they added', async () => {
    const ipOf = (admin: RunningAdmin): unknown =>
      (JSON.parse(admin.log.findLast((line) => line.includes('"admin_request"')) ?? '{}') as { ip?: unknown }).ip;
    const trusting = await start(PUBLIC);
    await ask(trusting, PLANS, { 'x-forwarded-for': '192.0.2.66, 198.51.100.1' });
    expect(ipOf(trusting)).toBe('198.51.100.1');
    await trusting.close();
    const alone = await start({});
    await ask(alone, PLANS, { 'x-forwarded-for': '198.51.100.1' });
    expect(ipOf(alone)).toBe('127.0.0.1');
  });

  it('counts failed attempts by the client address that the load balancer added, not by claimed ones', async () => {
    const admin = await start(PUBLIC);
    const attempt = async (forwardedFor: string): Promise<number> =>
      (await ask(admin, PLANS, { authorization: 'Bearer wrong', 'x-forwarded-for': forwardedFor })).status;
    for (let claimed = 1; claimed <= 10; claimed++) expect(await attempt(`192.0.2.${claimed}, 198.51.100.1`)).toBe(401);
    expect(await attempt('192.0.2.99, 198.51.100.1')).toBe(429);
    expect(await attempt('198.51.100.2')).toBe(401);
  });

  it('records the client address behind a trusted proxy in the audit log', async () => {
    const admin = await start(PUBLIC);
    const headers = { 'x-forwarded-for': '198.51.100.7', authorization: `Bearer ${admin.admin.token}` };
    const made = await send(`${admin.url}/admin/v1/accounts`, {
      method: 'POST',
      headers,
      body: { name: 'Rafting', plan: 'starter' },
    });
    const { id } = made.json<{ id: string }>();
    const log = await admin.admin.call<{ data: { ip: string }[] }>('GET', `/audit-log?account_id=${id}`);
    expect(log.data.map(({ ip }) => ip)).toEqual(['198.51.100.7']);
  });

  it('hides operator routes outside operatorNetworks, and refuses the operator token there', async () => {
    const admin = await start({ ...PUBLIC, operatorNetworks: ['203.0.113.0/24', '2001:db8::/32'] });
    const from = (address: string, more = {}, path = TARGETS) =>
      ask(admin, path, { 'x-forwarded-for': address, ...more });
    const outside = await from('198.51.100.1');
    expectProblem(outside, 'route_not_found', 404);
    expect(outside.headers).not.toHaveProperty('www-authenticate');
    expect(outside.json()).toMatchObject({ detail: 'This path does not exist.' });
    // Tokens are not checked here, so that nobody can guess them. These attempts do not count as failures.
    for (let attempt = 0; attempt < 12; attempt++) {
      expectProblem(await from('198.51.100.1', { authorization: 'Bearer wrong' }), 'route_not_found', 404);
    }
    expectProblem(await from('203.0.113.7', { authorization: 'Bearer wrong' }), 'invalid_credentials', 401);
    expect((await from('203.0.113.7')).status).toBe(200);
    expect((await from('2001:db8::1')).status).toBe(200);
    // Without X-Forwarded-For, the address of the load balancer applies. It is not in operatorNetworks.
    expectProblem(await ask(admin, TARGETS), 'route_not_found', 404);
    // On all other routes, the right token is refused just like a wrong one.
    const right = await from('198.51.100.1', {}, PLANS);
    const wrong = await from('198.51.100.1', { authorization: 'Bearer wrong' }, PLANS);
    expectProblem(right, 'invalid_credentials', 401);
    expect(right.json()['detail']).toBe(wrong.json()['detail']);
  });

  it('limits a member who is an operator to their account roles outside operatorNetworks', async () => {
    const admin = await start({ trustedProxies: ['127.0.0.1'], operatorNetworks: ['203.0.113.0/24'] });
    const input = { name: 'Isar Rafting', plan: 'starter', time_zone: 'UTC', billing_day: 1 };
    const newAccount = () => admin.modules.accounts.create(input, OPERATOR);
    const own = await newAccount();
    const other = await newAccount();
    const member = await newMember(database, { isOperator: true, roles: { [own.id]: 'viewer' } });
    const cookies = await signIn(admin, member);
    const token = await accountToken(admin, own.id, 'viewer');
    const statuses = async (credentials: Credentials, address: string): Promise<number[]> => {
      const paths = [`/accounts/${own.id}`, `/accounts/${other.id}`, '/targets'];
      const headers = { ...credentials, 'x-forwarded-for': address };
      const answers = await Promise.all(paths.map((path) => send(`${admin.url}/admin/v1${path}`, { headers })));
      return answers.map(({ status }) => status);
    };
    expect(await statuses(cookies, '203.0.113.7')).toEqual([200, 200, 200]);
    expect(await statuses(cookies, '198.51.100.1')).toEqual([200, 404, 404]);
    expect(await statuses(token, '198.51.100.1')).toEqual([200, 404, 404]);
  });

  it('serves health and metrics only to healthNetworks', async () => {
    const admin = await start({ ...PUBLIC, healthNetworks: ['127.0.0.0/8'] });
    for (const path of HEALTH) {
      expect((await send(admin.url + path)).status).toBe(200);
      const outside = await send(admin.url + path, { headers: { 'x-forwarded-for': '198.51.100.1' } });
      const unknown = await send(`${admin.url}/nowhere`);
      expectProblem(outside, 'route_not_found', 404);
      expect(outside.json()['detail']).toBe(unknown.json()['detail']);
    }
  });

  it('does not count panel pages toward the request limit', async () => {
    const panel = { files: new Map(), page: ['<', '>'] } as const;
    const admin = (running = await startAdmin(database, { panel }));
    for (let count = 0; count < 20; count++) expect((await send(admin.url)).status).toBe(200);
    expect((await ask(admin, PLANS)).headers['x-ratelimit-remaining']).toBe('5999');
  });

  it('closes connections above its limit, and still serves the open ones', async () => {
    const admin = await start({ limits: { connections: 3 } });
    const sockets = await Promise.all(
      Array.from({ length: 3 }, async () => {
        const socket = connect(admin.port, '127.0.0.1');
        await new Promise((resolve) => socket.once('connect', resolve));
        return socket;
      }),
    );
    const fourth = connect(admin.port, '127.0.0.1');
    fourth.on('error', () => undefined);
    await new Promise((resolve) => fourth.once('close', resolve));
    const first = sockets[0];
    first?.write('GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
    let text = '';
    for await (const chunk of first ?? []) text += String(chunk);
    expect(text).toMatch(/^HTTP\/1\.1 200 /);
    for (const socket of sockets) socket.destroy();
  });
});
