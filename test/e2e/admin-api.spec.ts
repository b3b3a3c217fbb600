/** The admin API for operators and scripts, on SQLite and PostgreSQL. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import type { NewEvent } from '../../src/outbox/event-types.js';
import { addEvents } from '../../src/outbox/outbox.js';
import type { ApiKeyWithSecret } from '../support/admin.js';
import { ADMIN_TOKEN, startAdmin, type RunningAdmin } from '../support/admin-application.js';
import { testDatabase } from '../support/database.js';
import { send, type Answer } from '../support/http.js';
import { describeOnDatabases } from '../support/describe-with.js';

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d$/;

function expectProblem(answer: Answer, status: number, code: string): Record<string, unknown> {
  expect({ status: answer.status, type: answer.headers['content-type'] }).toEqual({
    status,
    type: 'application/problem+json; charset=utf-8',
  });
  const body = answer.json();
  expect(body).toMatchObject({ status, code, request_id: answer.headers['x-request-id'] });
  expect(body['request_id']).toMatch(/^req_[0-9a-z]{25}$/);
  expect(body['type']).toMatch(new RegExp(`/${code}$`));
  return body;
}

/** Messages of the validation library. Callers must get messages with the value and the limit instead. */
const ZOD_MESSAGES = /Invalid (?:input|option|string)|Too (?:small|big)|expected|received/;

describeOnDatabases('the admin API', (kind) => {
  let database: DatabaseHandle;
  let running: RunningAdmin;
  let accountId: string;

  beforeAll(async () => {
    database = await testDatabase(kind);
    running = await startAdmin(database);
  });
  afterAll(() => running.close().finally(() => database.close()));
  beforeEach(async () => {
    running.clock.advance(60_000); // the limits are per minute
    const account = { name: 'Salzach Rafting', plan: 'starter', time_zone: 'Europe/Vienna' };
    accountId = (await running.admin.createAccount(account)).id;
  });

  const request = (method: string, path: string, body?: object) => running.admin.request(method, path, body);
  const newKey = (fields: object = {}) => running.admin.createKey(accountId, { scopes: ['customers:read'], ...fields });

  describe('accounts', () => {
    it('are created, read and changed', async () => {
      const made = await request('POST', '/accounts', { name: ' Isar ', plan: 'pro', billing_day: 15 });
      expect(made.status).toBe(201);
      const account = made.json<{ id: string }>();
      expect(made.headers.location).toBe(`/admin/v1/accounts/${account.id}`);
      expect(account).toMatchObject({
        id: expect.stringMatching(/^acc_/),
        name: 'Isar',
        plan: 'pro',
        time_zone: 'UTC',
        billing_day: 15,
        status: 'active',
        created_at: expect.stringMatching(RFC_3339),
        updated_at: expect.stringMatching(RFC_3339),
      });
      const changed = await running.admin.updateAccount(account.id, { status: 'suspended', time_zone: 'Asia/Kolkata' });
      expect(changed).toMatchObject({ name: 'Isar', status: 'suspended', time_zone: 'Asia/Kolkata' });
      expect(await running.admin.getAccount(account.id)).toEqual(changed);
      expect(changed).toMatchObject({ created_at: expect.stringMatching(/\+05:30$/) });
    });

    it('are listed in pages that a client can follow by cursor or by Link header', async () => {
      for (let count = 0; count < 4; count += 1) await running.admin.createAccount({ plan: 'pro' });
      const seen: string[] = [];
      let path: string | undefined = '/accounts?limit=2';
      while (path !== undefined) {
        const answer: Answer = await request('GET', path);
        const page = answer.json<{ data: { id: string }[]; has_more: boolean; next_cursor: string | null }>();
        seen.push(...page.data.map(({ id }) => id));
        const next = page.next_cursor === null ? undefined : `cursor=${page.next_cursor}`;
        path = /^<\/admin\/v1(.*)>; rel="next"$/.exec(answer.headers.link?.toString() ?? '')?.[1];
        expect(page.has_more).toBe(path !== undefined);
        expect(path?.split(/[?&]/).find((each) => each.startsWith('cursor='))).toBe(next);
      }
      expect(new Set(seen).size).toBe(seen.length);
      expect(seen).toContain(accountId);
      expect(seen).toEqual([...seen].toSorted());
    });

    it('that do not exist are answered with a 404 problem document', async () => {
      for (const path of ['/accounts/acc_none', '/accounts/acc_none/api-keys', '/accounts/acc_none/usage']) {
        expectProblem(await request('GET', path), 404, 'resource_not_found');
      }
      const body = { name: 'k', scopes: ['*'] };
      expectProblem(await request('POST', '/accounts/acc_none/api-keys', body), 404, 'resource_not_found');
    });
  });

  describe('keys', () => {
    it('show their secret only when they are created', async () => {
      const answer = await request('POST', `/accounts/${accountId}/api-keys`, {
        name: 'Booking site',
        scopes: ['customers:read'],
        expires_at: '2027-06-30T23:59:59Z',
        allowed_ips: ['203.0.113.0/24'],
      });
      expect(answer.status).toBe(201);
      const { secret, ...shown } = answer.json<ApiKeyWithSecret>();
      expect(secret).toMatch(/^tg_live_[0-9A-Za-z]{36}$/);
      expect(answer.headers['cache-control']).toBe('no-store');
      expect(shown).toMatchObject({
        id: expect.stringMatching(/^key_/),
        account_id: accountId,
        name: 'Booking site',
        scopes: ['customers:read'],
        environment: 'live',
        status: 'active',
        hint: `tg_live_…${secret.slice(-4)}`,
        expires_at: '2027-07-01T01:59:59+02:00',
        allowed_ips: ['203.0.113.0/24'],
        limits: null,
        last_used_at: null,
        created_at: expect.stringMatching(/\+01:00$/),
        updated_at: expect.stringMatching(/\+01:00$/),
        revoked_at: null,
      });
      expect(await running.admin.getKey(shown.id)).toEqual(shown);
      expect((await running.admin.listKeys(accountId)).data).toContainEqual(expect.objectContaining(shown));
    });

    it('rotate with an overlap, and the response says when the old secret expires', async () => {
      const key = await newKey({ environment: 'test' });
      const answer = await request('POST', `/api-keys/${key.id}/rotate`, { overlap_seconds: 3_600 });
      expect(answer.status).toBe(201);
      const rotated = answer.json<ApiKeyWithSecret & { previous_secret_expires_at: string }>();
      expect(rotated.secret).toMatch(/^tg_test_/);
      expect(rotated).toMatchObject({ id: key.id, hint: `tg_test_…${rotated.secret.slice(-4)}` });
      const untilMs = Date.parse(rotated.previous_secret_expires_at);
      expect(untilMs).toBe(running.clock.now() + 3_600_000);
    });

    it('are revoked idempotently, and cannot be changed or rotated afterward', async () => {
      const { id } = await newKey();
      const first = await request('DELETE', `/api-keys/${id}`);
      expect(first.status).toBe(200);
      expect(first.json()).toMatchObject({ id, status: 'revoked', revoked_at: expect.stringMatching(RFC_3339) });
      expect((await request('DELETE', `/api-keys/${id}`)).json()).toEqual(first.json());
      const refused = expectProblem(await request('PATCH', `/api-keys/${id}`, { name: 'x' }), 409, 'conflict');
      expect(refused.errors).toEqual([
        expect.objectContaining({
          pointer: '#/status',
          changed_by: 'operator',
          changed_at: first.json<{ revoked_at: string }>().revoked_at,
        }),
      ]);
      expectProblem(await request('POST', `/api-keys/${id}/rotate`, { overlap_seconds: 0 }), 409, 'conflict');
    });

    it('are changed by PATCH only in the fields that it contains', async () => {
      const key = await newKey({ scopes: ['customers:*'], allowed_ips: ['203.0.113.7'] });
      const changed = await running.admin.updateKey(key.id, { scopes: ['tours:read'] });
      expect(changed).toMatchObject({ scopes: ['tours:read'], allowed_ips: ['203.0.113.7'], name: key.name });
    });
  });

  describe('events', () => {
    const reached = (name: string, percent: 80 | 100): NewEvent => {
      const end = '2026-12-01T00:00:00+00:00';
      const limits = { policy: 'account-month', threshold_percent: percent, limit: 10, used: percent / 10 } as const;
      const period = { period_start: '2026-11-01T00:00:00+00:00', period_end: end, resets_at: end };
      const data = { account_id: accountId, api_key_id: null, ...limits, ...period };
      return { type: 'quota.threshold_reached', accountId, data, dedupeKey: `${accountId}/${name}` };
    };

    it('of an account are listed in pages, newest first', async () => {
      const events = [reached('one', 80), reached('two', 100)];
      await addEvents(database.db, events, running.clock.now());
      const { data, next_cursor: cursor } = (await request('GET', `/accounts/${accountId}/events?limit=1`)).json();
      expect(data).toMatchObject([
        {
          id: expect.stringMatching(/^evt_/),
          type: 'quota.threshold_reached',
          account_id: accountId,
          data: events[1]!.data,
          created_at: expect.stringMatching(RFC_3339),
        },
      ]);
      const next = await request('GET', `/accounts/${accountId}/events?limit=1&cursor=${String(cursor)}`);
      expect(next.json()).toMatchObject({ data: [{ data: { threshold_percent: 80 } }], has_more: false });
    });

    it('of an account are filtered by type, resource and time, and a cursor is bound to its filters', async () => {
      const other = await running.admin.createAccount({ plan: 'pro' });
      const about = (resource: string) => ({ ...reached(resource, 80), accountId: other.id, resource });
      const now = running.clock.now();
      await addEvents(database.db, [about('a'), about('b'), about('b2')], now - 60_000);
      await addEvents(database.db, [about('c')], now);
      const found = async (query: string): Promise<readonly string[]> => {
        const { data } = (await request('GET', `/accounts/${other.id}/events?${query}`)).json<{
          data: { resource: string }[];
        }>();
        return data.map(({ resource }) => resource);
      };
      expect(await found('resource=b')).toEqual(['b']);
      expect(await found('type=quota.threshold_reached')).toHaveLength(4);
      expect(await found('type=api_key.created')).toEqual([]);
      expect(await found(`since=${new Date(now - 30_000).toISOString()}`)).toEqual(['c']);
      expect(await found(`until=${new Date(now - 30_000).toISOString()}&resource=a`)).toEqual(['a']);
      const first = (await request('GET', `/accounts/${other.id}/events?limit=1&type=quota.threshold_reached`)).json();
      const cursor = String(first.next_cursor);
      expect(await found(`limit=1&type=quota.threshold_reached&cursor=${cursor}`)).toHaveLength(1);
      expectProblem(
        await request('GET', `/accounts/${other.id}/events?limit=1&cursor=${cursor}`),
        400,
        'invalid_cursor',
      );
    });

    it('of an unknown account are 404, and those of another account are not listed', async () => {
      expectProblem(await request('GET', '/accounts/acc_none/events'), 404, 'resource_not_found');
      await addEvents(database.db, [reached('three', 80)], running.clock.now());
      const other = await running.admin.createAccount({ plan: 'pro' });
      expect((await request('GET', `/accounts/${other.id}/events`)).json()).toMatchObject({ data: [] });
    });
  });

  describe('quota adjustments', () => {
    const adjust = (body: object, of = accountId) => request('POST', `/accounts/${of}/quota-adjustments`, body);

    it('are created, and listed in pages, newest first', async () => {
      const made = await adjust({ window: 'month', type: 'set', amount: 7, reason: ' moved in ' });
      expect(made.status).toBe(201);
      expect(made.json()).toEqual({
        id: expect.stringMatching(/^adj_/),
        account_id: accountId,
        api_key_id: null,
        window: 'month',
        type: 'set',
        amount: 7,
        reason: 'moved in',
        actor: 'operator',
        period_ends_at: '2026-12-01T00:00:00+01:00',
        created_at: expect.stringMatching(RFC_3339),
      });
      const { id } = await newKey();
      expect((await adjust({ window: 'month', type: 'reset', api_key_id: id, reason: 'r' })).status).toBe(201);
      const first = await request('GET', `/accounts/${accountId}/quota-adjustments?limit=1`);
      expect(first.json()).toMatchObject({ data: [{ type: 'reset', amount: null, api_key_id: id }], has_more: true });
      const [, next = ''] = /^<\/admin\/v1(.*)>; rel="next"$/.exec(String(first.headers.link)) ?? [];
      expect((await request('GET', next)).json()).toMatchObject({ data: [made.json()], has_more: false });
    });

    it.each([
      [{ type: 'grant' }, '#/amount'],
      [{ type: 'grant', amount: 0 }, '#/amount'],
      [{ type: 'grant', amount: -5 }, '#/amount'],
      [{ type: 'grant', amount: 1.5 }, '#/amount'],
      [{ type: 'grant', amount: 2 ** 53 }, '#/amount'],
      [{ type: 'grant', amount: 1e300 }, '#/amount'],
      [{ type: 'grant', amount: '5' }, '#/amount'],
      [{ type: 'set' }, '#/amount'],
      [{ type: 'set', amount: -1 }, '#/amount'],
      [{ type: 'set', amount: 1_000_000_000_000_000 }, '#/amount'],
      [{ type: 'reset', amount: 0 }, '#/amount'],
      [{ type: 'take', amount: 1 }, '#/type'],
      [{ type: 'reset', window: 'minute' }, '#/window'],
      [{ type: 'reset', reason: ' ' }, '#/reason'],
      [{ type: 'reset', reason: 'x'.repeat(501) }, '#/reason'],
      [{ type: 'reset', reason: 'a\u0000b' }, '#/reason'],
      [{ type: 'reset', reason: undefined }, '#/reason'],
      [{ type: 'reset', api_key_id: 'key_none' }, '#/api_key_id'],
      [{ type: 'reset', api_key: 'key_none' }, '#/api_key'],
    ])('are rejected with a pointer to the invalid field: %j', async (body, pointer) => {
      const answer = await adjust({ window: 'month', reason: 'r', ...body });
      const { errors } = expectProblem(answer, 422, 'validation_failed') as { errors: { pointer: string }[] };
      expect([...new Set(errors.map((error) => error.pointer))]).toEqual([pointer]);
      expect(JSON.stringify(errors)).not.toMatch(ZOD_MESSAGES);
      expect((await request('GET', `/accounts/${accountId}/quota-adjustments`)).json()).toMatchObject({ data: [] });
    });

    it('of an unknown account are 404', async () => {
      const body = { window: 'month', type: 'reset', reason: 'r' };
      expectProblem(await adjust(body, 'acc_none'), 404, 'resource_not_found');
      expectProblem(await request('GET', '/accounts/acc_none/quota-adjustments'), 404, 'resource_not_found');
    });
  });

  describe('limits of a key', () => {
    it('are set at creation or later, replaced as a whole, and removed with null', async () => {
      const key = await newKey({ limits: { minute: 5, month: null } });
      expect(key).toMatchObject({ limits: { minute: 5, month: null } });
      expect(await running.admin.updateKey(key.id, { name: 'x' })).toMatchObject({
        limits: { minute: 5, month: null },
      });
      expect(await running.admin.updateKey(key.id, { limits: { month: 0 } })).toMatchObject({ limits: { month: 0 } });
      const { windows } = await running.admin.usage(accountId, `?api_key_id=${key.id}`);
      expect(windows.map(({ policy, limit }) => [policy, limit])).toEqual([
        ['key-minute', 60],
        ['key-month', 0],
      ]);
      expect(await running.admin.updateKey(key.id, { limits: null })).toMatchObject({ limits: null });
      const log = await running.admin.auditLog(`?account_id=${accountId}&limit=2`);
      expect(log.data).toMatchObject([
        { action: 'api_key.updated', before: { limits: { month: 0 } }, after: { limits: null } },
        { before: { limits: { minute: 5, month: null } }, after: { limits: { month: 0 } } },
      ]);
    });

    it('are null if the object is empty', async () => {
      expect(await newKey({ limits: {} })).toMatchObject({ limits: null });
    });

    it.each([
      [{ minute: -1 }, '#/limits/minute'],
      [{ month: 1.5 }, '#/limits/month'],
      [{ month: 2 ** 53 }, '#/limits/month'],
      [{ month: 1_000_000_000_000_000 }, '#/limits/month'],
      [{ month: '5' }, '#/limits/month'],
      [{ hour: 5 }, '#/limits/hour'],
      [5, '#/limits'],
    ])('are rejected with a pointer to the invalid limit: %j', async (limits, pointer) => {
      const { id } = await newKey();
      const answer = await request('PATCH', `/api-keys/${id}`, { limits });
      const { errors } = expectProblem(answer, 422, 'validation_failed') as { errors: { pointer: string }[] };
      expect(errors.map((error) => error.pointer)).toContain(pointer);
      expect(JSON.stringify(errors)).not.toMatch(ZOD_MESSAGES);
    });
  });

  describe('wrong fields', () => {
    it.each([
      ['an unknown scope', { scopes: ['customers:read', 'nothing:read'] }, '#/scopes/1'],
      ['a malformed scope', { scopes: ['customers'] }, '#/scopes/0'],
      ['no scopes', { scopes: [] }, '#/scopes'],
      ['an address that is none', { allowed_ips: ['10.0.0.1', 'localhost'] }, '#/allowed_ips/1'],
      ['an expiry in the past', { expires_at: '2020-01-01T00:00:00Z' }, '#/expires_at'],
      ['a time that is none', { expires_at: 'tomorrow' }, '#/expires_at'],
      ['an environment that is none', { environment: 'prod' }, '#/environment'],
      ['an empty name', { name: '   ' }, '#/name'],
      ['a field that nobody may set', { status: 'active' }, '#/status'],
      ['a field whose name needs escaping', { 'a/b~c d': 1 }, '#/a~1b~0c%20d'],
    ])('of a key: %s is answered with 422 and a pointer to the field', async (_, fields, pointer) => {
      const answer = await request('POST', `/accounts/${accountId}/api-keys`, { name: 'k', scopes: ['*'], ...fields });
      const body = expectProblem(answer, 422, 'validation_failed');
      expect(body['errors']).toContainEqual(expect.objectContaining({ pointer, detail: expect.any(String) }));
      expect(JSON.stringify(body['errors'])).not.toMatch(ZOD_MESSAGES);
      expect((await running.admin.listKeys(accountId)).data).toEqual([]);
    });

    it('are all reported in one response', async () => {
      const answer = await request('POST', '/accounts', { name: '', time_zone: 'Mars', billing_day: 32, id: 'acc_1' });
      const { errors } = expectProblem(answer, 422, 'validation_failed') as { errors: { pointer: string }[] };
      const pointers = ['#/billing_day', '#/id', '#/name', '#/plan', '#/time_zone'];
      expect(errors.map(({ pointer }) => pointer).toSorted()).toEqual(pointers);
    });

    it('of an account: an unknown plan is answered with the list of plans', async () => {
      const answer = await request('PATCH', `/accounts/${accountId}`, { plan: 'gold' });
      const { errors } = expectProblem(answer, 422, 'validation_failed');
      expect(errors).toEqual([{ pointer: '#/plan', detail: 'is not a plan; the plans are starter, pro' }]);
    });

    it.each(['limit=0', 'limit=101', 'limit=1.5', 'limit=x', 'limit=', 'limit=1&limit=2', 'offset=3'])(
      'of a query: ?%s is answered with 400 and names the parameter',
      async (query) => {
        const { errors } = expectProblem(await request('GET', `/accounts?${query}`), 400, 'invalid_parameter');
        expect(errors).toEqual([expect.objectContaining({ parameter: query.split('=')[0] })]);
      },
    );

    it('with NUL characters are rejected in paths, bodies, parameters and cursors', async () => {
      for (const path of ['/accounts/%00', '/accounts/a%00b/usage']) {
        expectProblem(await request('GET', path), 400, 'bad_request');
      }
      for (const answer of [
        await request('POST', '/explain', { api_key_id: '\0', operation: 'listCustomers' }),
        await request('POST', `/accounts/${accountId}/quota-adjustments`, {
          window: 'month',
          type: 'reset',
          reason: 'x',
          api_key_id: 'key\0',
        }),
      ]) {
        const { errors } = expectProblem(answer, 422, 'validation_failed');
        expect(errors).toEqual([expect.objectContaining({ pointer: '#/api_key_id' })]);
      }
      const parameter = await request('GET', `/accounts/${accountId}/usage?api_key_id=%00`);
      expect(expectProblem(parameter, 400, 'invalid_parameter')['errors']).toMatchObject([{ parameter: 'api_key_id' }]);
      const cursor = Buffer.from(JSON.stringify([1, 'accounts', '\0'])).toString('base64url');
      expectProblem(await request('GET', `/accounts?cursor=${cursor}`), 400, 'invalid_cursor');
    });

    it('with a cursor that this list did not issue are answered with 400', async () => {
      expectProblem(await request('GET', '/accounts?cursor=junk'), 400, 'invalid_cursor');
      await running.admin.createAccount({ plan: 'pro' });
      const { next_cursor: cursor } = (await request('GET', '/accounts?limit=1')).json();
      expectProblem(await request('GET', `/audit-log?cursor=${String(cursor)}`), 400, 'invalid_cursor');
    });
  });

  describe('bodies', () => {
    const post = (body: string | Buffer, contentType?: string) =>
      send(`${running.url}/admin/v1/accounts`, {
        method: 'POST',
        body,
        headers: {
          Authorization: `Bearer ${ADMIN_TOKEN}`,
          ...(contentType === undefined ? {} : { 'Content-Type': contentType }),
        },
      });

    it('that are invalid JSON or set __proto__ are answered with 400', async () => {
      for (const body of ['{"name": ', 'null,', '{"__proto__": {"plan": "pro"}, "name": "x"}']) {
        expectProblem(await post(body, 'application/json'), 400, 'bad_request');
      }
    });

    it('that are empty or not an object are answered with 422', async () => {
      for (const body of ['[]', '"text"', '7', 'null', '']) {
        expectProblem(await post(body, 'application/json'), 422, 'validation_failed');
      }
    });

    it('of another media type are answered with 415', async () => {
      for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/xml']) {
        expectProblem(await post('name=x', type), 415, 'unsupported_media_type');
      }
    });

    it('that are too large are answered with 413', async () => {
      const body = JSON.stringify({ name: 'x'.repeat(100_000), plan: 'pro' });
      expectProblem(await post(body, 'application/json'), 413, 'content_too_large');
    });
  });

  describe('the audit log', () => {
    it('records actor, action, target, old and new values and IP address, newest first, without secrets', async () => {
      const key = await newKey();
      const rotated = await running.admin.rotateKey(key.id, 86_400);
      await running.admin.revokeKey(key.id);
      const { data } = await running.admin.auditLog(`?account_id=${accountId}`);
      const actions = ['api_key.revoked', 'api_key.rotated', 'api_key.created', 'account.created'];
      expect(data.map(({ action }) => action)).toEqual(actions);
      expect(data[0]).toMatchObject({
        id: expect.stringMatching(/^aud_/),
        account_id: accountId,
        actor: 'operator',
        action: 'api_key.revoked',
        target: { type: 'api_key', id: key.id },
        before: { status: 'active' },
        after: { status: 'revoked' },
        ip: '127.0.0.1',
        request_id: expect.stringMatching(/^req_/),
        created_at: expect.stringMatching(/\+01:00$/),
      });
      for (const { secret } of [key, rotated]) expect(JSON.stringify(data)).not.toContain(secret.slice(8, 30));
      expect((await running.admin.auditLog('?limit=1')).has_more).toBe(true);
    });
  });

  describe('the configuration', () => {
    it('is listed as scopes with their operations and plans with their limits', async () => {
      const scopes = (await request('GET', '/scopes')).json<{ data: object[] }>();
      expect(scopes).toMatchObject({ has_more: false, next_cursor: null });
      expect(scopes.data).toMatchObject([
        { scope: '*', operations: ['listCustomers', 'createCustomer', 'listTours'] },
        { scope: 'customers:*', operations: ['listCustomers', 'createCustomer'] },
        { scope: 'customers:read', operations: ['listCustomers'] },
        { scope: 'customers:write', operations: ['createCustomer'] },
        { scope: 'tours:*', operations: ['listTours'] },
        { scope: 'tours:read', operations: ['listTours'] },
      ]);
      expect((await request('GET', '/plans')).json<{ data: object[] }>().data[0]).toEqual({
        name: 'starter',
        key: { minute: 60, day: null, month: null },
        account: { minute: null, day: null, month: null },
        on_redis_loss: 'local',
        charge: 'all',
      });
    });
  });

  describe('usage', () => {
    it('is returned for an account, or with the windows of a key', async () => {
      const key = await newKey();
      expect(await running.admin.usage(accountId)).toMatchObject({ account_id: accountId, api_key_id: null });
      const usage = await running.admin.usage(accountId, `?api_key_id=${key.id}`);
      expect(usage).toMatchObject({ api_key_id: key.id, plan: 'starter' });
      expect(usage.windows).toContainEqual({
        policy: 'key-minute',
        limit: 60,
        used: 0,
        remaining: 60,
        resets_at: expect.stringMatching(/\+01:00$/),
      });
    });

    it('is 404 for a key of another account', async () => {
      const other = await running.admin.createAccount({ plan: 'pro' });
      const key = await newKey();
      const answer = await request('GET', `/accounts/${other.id}/usage?api_key_id=${key.id}`);
      expectProblem(answer, 404, 'resource_not_found');
    });
  });
});
