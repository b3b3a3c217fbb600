/** Request logs. An entry can be read within seconds, and tells why the request was refused. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { json, startBackend, type Backend } from '../support/backend.js';
import { migratedDatabase, type TestDatabase } from '../support/database.js';
import { describeWithPostgres } from '../support/describe-with.js';
import { send, type Answer } from '../support/http.js';
import { eventually } from '../support/processes.js';
import { acquireTrailgate, type SharedTrailgate } from '../support/shared-program.js';

interface Entry {
  readonly id: string;
  readonly request_id: string;
  readonly at: string;
  readonly api_key_id: string;
  readonly api_key_name: string;
  readonly operation: string | null;
  readonly method: string;
  readonly route: string | null;
  readonly status: number;
  readonly code: string | null;
  readonly duration_ms: number;
  readonly bytes_in: number;
  readonly bytes_out: number;
  readonly ip: string;
  readonly weight: number;
}

interface List {
  readonly data: readonly Entry[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
  readonly kept_since: string | null;
}

interface Detail extends Entry {
  readonly error: { readonly title: string; readonly type: string } | null;
  readonly explanation: { readonly answer: { readonly admitted: boolean; readonly code: string | null } } | null;
}

const PLANS = { bill: { account: { month: 20 } }, minute: { key: { minute: 1 } } };

function suite(environment: () => Promise<Record<string, string>>): void {
  let backend: Backend;
  let trailgate: SharedTrailgate;
  beforeAll(async () => {
    backend = await startBackend(json({ said: 'by the backend' }));
    trailgate = await acquireTrailgate({
      backend: backend.url,
      config: { usage: { flushInterval: '100ms' }, plans: PLANS },
      env: await environment(),
    });
  });
  afterAll(async () => {
    await trailgate?.stop();
    await backend?.stop();
  });

  const call = (secret: string, path: string, options: object = {}): Promise<Answer> =>
    send(`${trailgate.gatewayUrl}/api/v1${path}`, { headers: { Authorization: `Bearer ${secret}` }, ...options });
  const list = (accountId: string, query = '') =>
    trailgate.admin.call<List>('GET', `/accounts/${accountId}/requests${query}`);
  const requestIdOf = (answer: Answer) => String(answer.headers['x-request-id']);
  /** Waits until the flush has written the entry of a request, and returns it. */
  const waitForEntry = async (accountId: string, requestId: string): Promise<Detail> => {
    let detail: Detail | undefined;
    await eventually('the request is in the log', async () => {
      const answer = await trailgate.admin.request('GET', `/accounts/${accountId}/requests/${requestId}`);
      detail = answer.status === 200 ? (answer.json() as Detail) : undefined;
      return detail !== undefined;
    });
    return detail!;
  };

  it('show a request within seconds: key, operation, status, duration, bytes and address', async () => {
    const { account, key } = await trailgate.admin.newKey();
    const sent = '{"name":"Isar"}';
    const answer = await call(key.secret, '/customers?secret=query', {
      method: 'POST',
      headers: { Authorization: `Bearer ${key.secret}`, 'Content-Type': 'application/json' },
      body: JSON.parse(sent) as object,
    });
    expect(answer.status).toBe(200);
    const detail = await waitForEntry(account.id, requestIdOf(answer));
    expect(detail).toMatchObject({
      request_id: requestIdOf(answer),
      api_key_id: key.id,
      api_key_name: 'Test key',
      operation: 'createCustomer',
      method: 'POST',
      route: '/api/v1/customers',
      status: 200,
      code: null,
      error: null,
      bytes_in: sent.length,
      bytes_out: answer.body.length,
      ip: '127.0.0.1',
      weight: 1,
      explanation: { answer: { admitted: true, code: null } },
    });
    expect(detail.duration_ms).toBeGreaterThan(0);
    expect(Math.abs(Date.parse(detail.at) - Date.now())).toBeLessThan(60_000);
    expect((await list(account.id)).data).toMatchObject([{ id: detail.id, operation: 'createCustomer' }]);
  });

  it('tell why a request was refused: missing scope, wrong address or revoked key', async () => {
    const { account, key } = await trailgate.admin.newKey('unlimited', { scopes: ['files:read'] });
    const elsewhere = await trailgate.admin.createKey(account.id, { allowed_ips: ['192.0.2.7'] });
    const revoked = await trailgate.admin.createKey(account.id);
    expect((await call(revoked.secret, '/open')).status).toBe(200);
    await trailgate.admin.revokeKey(revoked.id);
    const refusals = [
      [await call(key.secret, '/customers'), 403, 'insufficient_scope', key.id],
      [await call(elsewhere.secret, '/customers'), 403, 'ip_not_allowed', elsewhere.id],
      [await call(revoked.secret, '/customers'), 401, 'revoked_api_key', revoked.id],
    ] as const;
    for (const [answer, status, code, keyId] of refusals) {
      expect(answer.status).toBe(status);
      const detail = await waitForEntry(account.id, requestIdOf(answer));
      expect(detail).toMatchObject({ status, code, api_key_id: keyId, operation: 'listCustomers' });
      expect(detail.error).toMatchObject({ type: expect.stringContaining(code) });
      expect(detail.explanation?.answer).toMatchObject({ admitted: false, code });
    }
  });

  it('contain no path parameter, query, User-Agent, response body or secret', async () => {
    const { account, key } = await trailgate.admin.newKey();
    const answer = await call(key.secret, '/customers/guest-of-room-7?email=ana%40example.com', {
      headers: { Authorization: `Bearer ${key.secret}`, 'User-Agent': 'agent-smith/1' },
    });
    const detail = await waitForEntry(account.id, requestIdOf(answer));
    expect(detail.route).toBe('/api/v1/customers/{id}');
    const text = JSON.stringify([detail, await list(account.id)]);
    for (const kept of ['guest-of-room-7', 'ana@', 'email', 'agent-smith', 'by the backend', key.secret]) {
      expect(text).not.toContain(kept);
    }
  });

  it('keep two requests apart that a client sent with the same request ID', async () => {
    const { account, key } = await trailgate.admin.newKey();
    const headers = { Authorization: `Bearer ${key.secret}`, 'X-Request-Id': 'order-4711' };
    await call(key.secret, '/open', { headers });
    await call(key.secret, '/customers', { headers });
    await eventually('both requests are in the log', async () => {
      return (await list(account.id, '?request_id=order-4711')).data.length === 2;
    });
    const rows = (await list(account.id, '?request_id=order-4711')).data;
    expect(rows.map(({ operation }) => operation)).toEqual(['listCustomers', 'getOpen']);
    expect((await waitForEntry(account.id, 'order-4711')).operation).toBe('listCustomers');
  });

  it('do not show the requests of another account', async () => {
    const { account, key } = await trailgate.admin.newKey();
    const answer = await call(key.secret, '/open');
    await waitForEntry(account.id, requestIdOf(answer));
    const other = await trailgate.admin.createAccount();
    expect((await list(other.id)).data).toEqual([]);
    const path = `/accounts/${other.id}/requests/${requestIdOf(answer)}`;
    expect((await trailgate.admin.request('GET', path)).status).toBe(404);
  });

  it('can be filtered by key, operation, status, code and end time, and paginated', async () => {
    const { account, key } = await trailgate.admin.newKey('unlimited', { scopes: ['files:read'] });
    const other = await trailgate.admin.createKey(account.id);
    for (const path of ['/open', '/files/a', '/files/b', '/customers']) await call(key.secret, path);
    const last = await call(other.secret, '/customers');
    await waitForEntry(account.id, requestIdOf(last));
    const operations = async (query: string) => (await list(account.id, query)).data.map(({ operation }) => operation);
    expect(await operations('')).toEqual(['listCustomers', 'listCustomers', 'downloadFile', 'downloadFile', 'getOpen']);
    expect(await operations(`?api_key_id=${other.id}`)).toEqual(['listCustomers']);
    expect(await operations('?operation=downloadFile')).toEqual(['downloadFile', 'downloadFile']);
    expect(await operations('?status=4xx')).toEqual(['listCustomers']);
    expect(await operations('?status=error')).toEqual(['listCustomers']);
    expect(await operations('?status=403&code=insufficient_scope')).toEqual(['listCustomers']);
    expect(await operations('?code=quota_exceeded')).toEqual([]);
    expect(await operations('?to=2026-01-01T00:00:00Z')).toEqual([]);
    expect(await operations('?to=0158-02-17T00:00:00Z')).toEqual([]);
    const first = await list(account.id, '?limit=3');
    expect(first).toMatchObject({ has_more: true });
    const second = await list(account.id, `?limit=3&cursor=${first.next_cursor}`);
    expect(second).toMatchObject({ has_more: false, next_cursor: null });
    expect(new Set([...first.data, ...second.data].map(({ id }) => id)).size).toBe(5);
  });

  it.each([
    ['status=9xx', 'status'],
    ['status=teapot', 'status'],
    ['from=yesterday', 'from'],
    ['from=2026-11-23T00:00:00Z&to=2026-11-22T00:00:00Z', 'from'],
    ['order=up', 'order'],
    ['cursor=W10', 'cursor'],
    ['nothing=1', 'nothing'],
  ])('reject %s and name the parameter', async (query, parameter) => {
    const { id } = await trailgate.admin.createAccount();
    const answer = await trailgate.admin.request('GET', `/accounts/${id}/requests?${query}`);
    expect(answer.status).toBe(400);
    expect(answer.json()).toMatchObject({ errors: [{ parameter }] });
  });

  it('can be followed with a cursor, which returns each request once and in order', async () => {
    const { account, key } = await trailgate.admin.newKey();
    const sent: string[] = [];
    const seen: string[] = [];
    let cursor = '';
    const follow = async () => {
      const page = await list(account.id, `?order=asc${cursor}`);
      seen.push(...page.data.map(({ request_id: id }) => id));
      cursor = `&cursor=${page.next_cursor}`;
    };
    for (let round = 0; round < 5; round++) {
      for (let each = 0; each < 4; each++) sent.push(requestIdOf(await call(key.secret, '/open')));
      await follow();
    }
    await eventually('all requests have been read', async () => {
      await follow();
      return seen.length >= sent.length;
    });
    expect(seen).toEqual(sent);
  });
}

describe('request logs on sqlite', () => {
  suite(async () => ({}));
});

describeWithPostgres('request logs on postgres', () => {
  let database: TestDatabase;
  afterAll(() => database.drop());
  suite(async () => {
    database = await migratedDatabase('postgres');
    return { DATABASE_URL: database.options.databaseUrl ?? '' };
  });
});
