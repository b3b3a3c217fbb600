/** Authentication and rate limits of the admin API, and its public endpoints. */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Validator } from '@seriousme/openapi-schema-validator';
import type { FastifyInstance } from 'fastify';
import { openDatabase, type DatabaseHandle } from '../../src/stores/database/connect.js';
import { createToken } from '../../src/members/session-token.js';
import { ERRORS } from '../../src/platform/problems/errors.js';
import { ADMIN_TOKEN, startAdmin, type RunningAdmin } from '../support/admin-application.js';
import { answersNow, migratedDatabase, testDatabase, type TestDatabase } from '../support/database.js';
import { describeWithOwnPostgres } from '../support/describe-with.js';
import { send, sendRaw } from '../support/http.js';
import { quietMsSince } from '../support/machine-time.js';
import { eventually } from '../support/processes.js';
import { accountToken, newMember, signIn, type Credentials } from '../support/signed-in.js';
import { startPostgres, type PostgresServer } from '../support/postgres.js';

interface Operation {
  readonly operationId: string;
  readonly security?: readonly object[];
  readonly responses: Record<string, { content: Record<string, { schema: { $ref: string } }> }>;
  readonly parameters?: readonly { name: string; in: string }[];
}
interface Document {
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { schemas: Record<string, object> };
}

/** Returns the routes of Fastify's router, such as `GET /admin/v1/accounts/{id}`. */
function routesOf(running: RunningAdmin): string[] {
  const fastify = running.application.getHttpAdapter().getInstance() as unknown as FastifyInstance;
  const lines = fastify.printRoutes({ commonPrefix: false }).split('\n');
  const routes: string[] = [];
  const parents: string[] = [];
  for (const line of lines) {
    const match = /^([│ ├└─]*?)(\/?[^\s(]*) \(([A-Z, ]+)\)/.exec(line) ?? /^([│ ├└─]*)(\S+)\s*$/.exec(line);
    if (match === null) continue;
    const [, indent = '', part = '', methods = ''] = match;
    const depth = indent.length / 4;
    parents.length = depth;
    parents[depth - 1] = part;
    const path = parents.join('').replace(/:(\w+)/g, '{$1}');
    for (const method of methods.split(', ').filter(Boolean)) routes.push(`${method} ${path}`);
  }
  return routes;
}

/** Requests per minute for the operator token. Higher than for other callers. The default is 6,000. */
const OPERATOR_LIMIT = 1_300;

describe('the admin listener', () => {
  let database: DatabaseHandle;
  let running: RunningAdmin;
  let document: Document;

  beforeAll(async () => {
    database = await testDatabase('sqlite');
    running = await startAdmin(database, { settings: { operatorRequestsPerMinute: OPERATOR_LIMIT } });
    document = await running.admin.call('GET', '/openapi.json');
  });
  afterAll(async () => {
    await running.close();
    await database.close();
  });

  const apiRoutes = () =>
    routesOf(running).filter((route) => / \/admin\/v1\//.test(route) && !route.startsWith('HEAD'));

  it('requires credentials on every API route except sign-in, links and password resets', async () => {
    const open = new Set(
      Object.entries(document.paths).flatMap(([path, operations]) =>
        Object.entries(operations)
          .filter(([, { security }]) => security?.length === 0)
          .map(([method]) => `${method.toUpperCase()} ${path}`),
      ),
    );
    expect([...open].filter((route) => !/\/admin\/v1\/(sign-in|links|password-resets)/.test(route))).toEqual([]);
    const routes = apiRoutes().filter((route) => !open.has(route));
    expect(routes.length).toBeGreaterThanOrEqual(14);
    for (const route of routes) {
      // Failed attempts are limited per minute.
      running.clock.advance(61_000);
      const [method = '', path = ''] = route.split(' ');
      const answer = await send(running.url + path, { method });
      expect([route, answer.status, answer.headers['www-authenticate']]).toEqual([
        route,
        401,
        'Bearer realm="trailgate-admin"',
      ]);
      expect(answer.json()).toMatchObject({ code: 'missing_credentials' });
    }
  });

  it('documents exactly the API routes that exist', () => {
    const described = Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(described.toSorted()).toEqual(apiRoutes().toSorted());
  });

  it('is described by a valid OpenAPI document', async () => {
    expect(
      await new Validator().validate(JSON.parse(JSON.stringify(document)) as Record<string, unknown>),
    ).toMatchObject({ valid: true });
  });

  it('documents each operation with a unique operationId and its 401 and 503 responses', () => {
    const operations = Object.values(document.paths).flatMap((path) => Object.values(path));
    const ids = operations.map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(document.components.schemas['Account']).toMatchObject({ type: 'object', properties: { plan: {} } });
    expect(document.components.schemas['UpdateAccount']).toMatchObject({ additionalProperties: false });
    for (const { responses } of operations)
      expect(Object.keys(responses)).toEqual(expect.arrayContaining(['401', '503']));
  });

  it.each([
    ['Bearer wrong-token-of-the-tests-0123456789', 401, 'invalid_credentials', /error="invalid_token"/],
    ['Bearer ', 400, 'malformed_authorization', /error="invalid_request"/],
    [`Bearer ${ADMIN_TOKEN} ${ADMIN_TOKEN}`, 400, 'malformed_authorization', /error="invalid_request"/],
    ['Basic b3BlcmF0b3I6', 401, 'missing_credentials', /^Bearer realm="trailgate-admin"$/],
    [ADMIN_TOKEN, 401, 'missing_credentials', /^Bearer realm="trailgate-admin"$/],
    [`Bearer ${ADMIN_TOKEN.slice(0, -1)}`, 401, 'invalid_credentials', /error="invalid_token"/],
  ])('answers Authorization: %s with %i %s', async (authorization, status, code, challenge) => {
    running.clock.advance(61_000);
    const answer = await send(`${running.url}/admin/v1/accounts`, { headers: { Authorization: authorization } });
    expect(answer.status).toBe(status);
    expect(answer.json()).toMatchObject({ code, request_id: answer.headers['x-request-id'] });
    expect(answer.headers['www-authenticate']).toMatch(challenge);
    expect(answer.text).not.toContain(ADMIN_TOKEN.slice(0, 20));
  });

  it('accepts the Bearer scheme in lower case (RFC 9110)', async () => {
    const headers = { Authorization: `bearer ${ADMIN_TOKEN}` };
    expect((await send(`${running.url}/admin/v1/accounts`, { headers })).status).toBe(200);
  });

  it('throttles an address after 10 failed attempts, but still accepts the right token from it', async () => {
    running.clock.advance(61_000);
    const attempt = () => send(`${running.url}/admin/v1/accounts`, { headers: { Authorization: 'Bearer guess' } });
    const statuses: number[] = [];
    for (let count = 0; count < 11; count += 1) statuses.push((await attempt()).status);
    expect(statuses).toEqual([...Array<number>(10).fill(401), 429]);
    const refused = await attempt();
    expect(refused.json()).toMatchObject({ code: 'too_many_failed_attempts' });
    expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect((await running.admin.request('GET', '/accounts')).status).toBe(200);
    running.clock.advance(61_000);
    expect((await attempt()).status).toBe(401);
  });

  it('looks up at most two sessions at once for a throttled address, and still serves valid ones', async () => {
    running.clock.advance(61_000);
    const memberId = await newMember(database, { isOperator: true });
    const [known, fresh] = [await signIn(running, memberId), await signIn(running, memberId)];
    const ask = async (headers: Credentials) => (await send(`${running.url}/admin/v1/plans`, { headers })).status;
    const wrong = { Authorization: 'Bearer guess' };
    expect(await ask(known)).toBe(200);
    for (let count = 0; count < 10; count += 1) expect(await ask(wrong)).toBe(401);
    expect(await ask(wrong)).toBe(429);

    const { sessions } = running.members;
    const guess = createToken();
    const held = Promise.withResolvers<void>();
    let underWay = 0;
    const findSession = sessions.findSession.bind(sessions);
    const spy = jest.spyOn(sessions, 'findSession').mockImplementation(async (cookie, isAttended) => {
      if (cookie === guess) {
        underWay += 1;
        await held.promise;
      }
      return await findSession(cookie, isAttended);
    });
    try {
      let refused = 0;
      const flood = Array.from({ length: 60 }, async () => {
        const status = await ask({ Cookie: `tg_session=${guess}` });
        if (underWay > 0 && status === 429) refused += 1;
        return status;
      });
      await eventually('all requests beyond the running and queued lookups are refused', () => refused >= 38);
      expect(underWay).toBe(2);
      expect(await ask(known)).toBe(200);
      held.resolve();
      await Promise.all(flood);
      // Queued lookups are still served.
      expect(await ask(fresh)).toBe(200);
    } finally {
      held.resolve();
      spy.mockRestore();
    }
  });

  describe('limits each caller separately, across all routes,', () => {
    const PATHS = ['/accounts', '/plans', '/scopes'];
    /** Sends `count` requests at once, and returns the number of responses for each status. */
    async function statusesOf(count: number, headers: Credentials): Promise<Record<number, number>> {
      const all = Array.from({ length: count }, async (_, index) => {
        return (await send(`${running.url}/admin/v1${PATHS[index % 3]}`, { headers })).status;
      });
      const counts: Record<number, number> = {};
      for (const status of await Promise.all(all)) counts[status] = (counts[status] ?? 0) + 1;
      return counts;
    }
    const OPERATOR = { Authorization: `Bearer ${ADMIN_TOKEN}` };
    let member: Credentials;
    let other: Credentials;
    let token: Credentials;
    beforeEach(async () => {
      running.clock.advance(61_000);
      const memberId = await newMember(database, { isOperator: true });
      [member, other] = [await signIn(running, memberId), await signIn(running, memberId)];
      token = await accountToken(running, (await running.admin.createAccount({ plan: 'starter' })).id, 'admin');
    });
    const expectServed = async (...callers: Credentials[]): Promise<void> => {
      for (const headers of callers) expect(await statusesOf(1, headers)).toEqual({ 200: 1 });
    };

    it('to the configured requests per minute with the operator token, then sends Retry-After', async () => {
      // One request of the limit was used to create the account.
      expect(await statusesOf(OPERATOR_LIMIT + 2, OPERATOR)).toEqual({ 200: OPERATOR_LIMIT - 1, 429: 3 });
      const refused = await running.admin.request('GET', '/plans');
      expect(refused.json()).toMatchObject({ status: 429, code: 'too_many_requests' });
      expect(refused.headers['retry-after']).toMatch(/^[1-9]\d*$/);
      await expectServed(member, token);
      expect((await send(`${running.url}/livez`)).status).toBe(200);
    });

    it('to 1,200 requests per minute for each session and account token', async () => {
      expect(await statusesOf(1_203, member)).toEqual({ 200: 1_200, 429: 3 });
      expect((await statusesOf(1_203, token))[429]).toBe(3);
      await expectServed(other, OPERATOR);
    });

    it('to 1,200 requests per minute without valid credentials, while valid callers are served', async () => {
      expect(await statusesOf(601, {})).toEqual({ 401: 601 });
      expect(await statusesOf(602, { Cookie: 'tg_session=ses_guess' })).toEqual({ 401: 599, 429: 3 });
      const refused = await send(`${running.url}/admin/v1/plans`);
      expect(refused.json()).toMatchObject({ status: 429, code: 'too_many_requests' });
      expect(refused.headers['retry-after']).toMatch(/^[1-9]\d*$/);
      expect((await statusesOf(20, { Authorization: 'Bearer guess' }))[429]).toBe(10);
      await expectServed(member, other, token, OPERATOR);
    });
  });

  it('answers 404 for unknown paths and 405 with Allow for unsupported methods', async () => {
    for (const path of ['/nothing', '/admin/v1', '/admin/v1/accounts/', '/admin/v2/accounts', '//admin/v1/accounts']) {
      const answer = await send(running.url, { path });
      expect([path, answer.status, answer.json()['code']]).toEqual([path, 404, 'route_not_found']);
      expect(answer.headers['x-request-id']).toBe(answer.json()['request_id']);
    }
    const wrong = await running.admin.request('PUT', '/accounts/acc_1');
    expect(wrong.json()).toMatchObject({ status: 405, code: 'method_not_allowed' });
    expect(wrong.headers.allow).toBe('DELETE, GET, HEAD, PATCH');
    expect((await send(`${running.url}/livez`, { method: 'POST' })).headers.allow).toBe('GET, HEAD');
  });

  it('answers malformed requests that reach no route with a problem document', async () => {
    const badPath = await send(running.url, { path: '/admin/v1/accounts/%ff' });
    expect(badPath.status).toBe(400);
    expect(badPath.headers['content-type']).toBe('application/problem+json; charset=utf-8');
    expect(badPath.json()).toMatchObject({ code: 'bad_request', request_id: badPath.headers['x-request-id'] });
    const junk = await sendRaw(running.port, 'this is not HTTP\r\n\r\n');
    expect(junk).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(junk).toMatch(/\r\nX-Request-Id: req_/);
    expect(junk).toMatch(/"code":"bad_request"/);
    const large = await sendRaw(running.port, `GET / HTTP/1.1\r\nHost: a\r\nX-Large: ${'x'.repeat(40_000)}\r\n\r\n`);
    expect(large).toMatch(/^HTTP\/1\.1 431 /);
    expect(large).toMatch(/"code":"headers_too_large"/);
  });

  it('serves health and metrics without a token', async () => {
    expect((await send(`${running.url}/livez`)).json()).toEqual({ status: 'alive' });
    expect((await send(`${running.url}/readyz`)).json()).toEqual({
      status: 'ready',
      checks: { database: { status: 'ok' } },
    });
    const metrics = await send(`${running.url}/metrics`);
    expect(metrics.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(metrics.text).toMatch(/^# HELP /m);
  });

  it('logs API requests without the operator token or the secret of a new key', async () => {
    running.clock.advance(61_000);
    const { secret } = (await running.admin.newKey('starter')).key;
    const lines = running.log.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines).toContainEqual(
      expect.objectContaining({
        plane: 'admin',
        method: 'POST',
        route: '/admin/v1/accounts/:id/api-keys',
        status: 201,
      }),
    );
    const text = running.log.join('');
    expect(text).not.toContain(ADMIN_TOKEN);
    expect(text).not.toContain(secret.slice(8, 30));
  });

  it('documents only error codes that are defined in ERRORS', () => {
    const operations = Object.values(document.paths).flatMap((path) => Object.values(path));
    const text = JSON.stringify(operations.map(({ responses }) => responses));
    expect(text).toContain('`missing_credentials`: ');
    for (const [, code] of text.matchAll(/`([a-z_]+)`: /g)) expect(Object.keys(ERRORS)).toContain(code);
  });
});

describe('a process without the admin role', () => {
  it('serves health endpoints, but no route of the admin API', async () => {
    const database = await testDatabase('sqlite');
    const readiness = () => ({ ready: false, checks: { redis: { status: 'down', detail: 'refused' } } });
    const running = await startAdmin(database, { api: false, readiness });
    const ready = await send(`${running.url}/readyz`);
    expect(ready.status).toBe(503);
    expect(ready.json()).toEqual({
      status: 'not_ready',
      checks: { redis: { status: 'down', detail: 'refused' } },
    });
    expect((await send(`${running.url}/livez`)).status).toBe(200);
    expect((await running.admin.request('GET', '/accounts')).json()).toMatchObject({ status: 404 });
    expect(routesOf(running).filter((route) => route.includes('/admin'))).toEqual([]);
    await running.close();
    await database.close();
  });
});

describe('the admin API without its database', () => {
  it('answers writes with 503 while another process locks the SQLite file, serves reads, and recovers', async () => {
    const place: TestDatabase = await migratedDatabase('sqlite');
    const database = await openDatabase(place.options);
    const running = await startAdmin(database);
    const account = await running.admin.createAccount({ plan: 'pro' });
    const other = new DatabaseSync(join(place.options.dataDir, 'trailgate.db'), { timeout: 30_000 });
    other.exec('begin immediate');
    const refused = await running.admin.request('POST', '/accounts', { name: 'x', plan: 'pro' });
    expect(refused.json()).toMatchObject({ status: 503, code: 'database_unavailable' });
    expect(await running.admin.getAccount(account.id)).toEqual(account);
    other.exec('commit');
    other.close();
    await running.admin.createAccount({ plan: 'pro' });
    await running.close();
    await database.close();
    await place.drop();
  });

  describeWithOwnPostgres('(PostgreSQL killed)', () => {
    let server: PostgresServer;
    beforeAll(async () => {
      server = await startPostgres();
    });
    afterAll(() => server.stop());

    it('answers 503 database_unavailable with Retry-After within 5 seconds, and recovers', async () => {
      const database = await openDatabase({ databaseUrl: await server.createDatabase('admin'), dataDir: '' });
      const running = await startAdmin(database);
      const account = await running.admin.createAccount({ plan: 'pro' });
      await server.kill9();
      // PostgreSQL sessions notice a moment later that their parent is gone.
      await eventually('the database is down', async () => !(await answersNow(database)));
      for (const [method, path, body] of [
        ['GET', `/accounts/${account.id}`, undefined],
        ['POST', '/accounts', { name: 'x', plan: 'pro' }],
      ] as const) {
        const start = performance.now();
        const answer = await running.admin.request(method, path, body);
        expect(quietMsSince(start)).toBeLessThan(5_000);
        expect(answer.json()).toMatchObject({ status: 503, code: 'database_unavailable' });
        expect(answer.headers['retry-after']).toMatch(/^\d+$/);
        expect(answer.text).not.toMatch(/127\.0\.0\.1|ECONN/);
      }
      await server.restart();
      expect(await running.admin.getAccount(account.id)).toEqual(account);
      await running.close();
      await database.close();
    });
  });
});
