/** A portal session with limited scopes cannot see or change anything that its scopes do not cover. */
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type {
  KyselyPlugin,
  PluginTransformQueryArgs,
  PluginTransformResultArgs,
  QueryResult,
  RootOperationNode,
  UnknownRow,
} from 'kysely';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { missingScopes } from '../../src/keys/scopes.js';
import { RequestLogWriter } from '../../src/request-logs/request-log-writer.js';
import { startAdmin, type RunningAdmin } from '../support/admin-application.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { send, type Answer } from '../support/http.js';
import { requestLogRow } from '../support/request-logs.js';
import { portalSession, type Credentials } from '../support/signed-in.js';
import { newWebhook } from '../support/webhook-endpoints.js';

/** Reports the number of rows that each statement returns. */
class LargestResult implements KyselyPlugin {
  constructor(private readonly tell: (rows: number) => void) {}

  transformQuery({ node }: PluginTransformQueryArgs): RootOperationNode {
    return node;
  }

  transformResult({ result }: PluginTransformResultArgs): Promise<QueryResult<UnknownRow>> {
    this.tell(result.rows.length);
    return Promise.resolve(result);
  }
}

type Asked = readonly [method: string, path: string, body?: object];

describeOnDatabases('a portal session with limited scopes', (kind) => {
  let database: DatabaseHandle;
  let running: RunningAdmin;
  let headers: Credentials;
  let account: string;
  /** `within` has only scopes of the session, and `beyond` has one more. */
  let within: string;
  let beyond: string;
  /** The largest number of rows that one statement returned. */
  let largest = 0;

  beforeAll(async () => {
    database = await testDatabase(kind);
    const db = database.db.withPlugin(new LargestResult((rows) => void (largest = Math.max(largest, rows))));
    running = await startAdmin({ ...database, db }, { events: ['customer.created'] });
  });
  afterAll(async () => {
    await running.close();
    await database.close();
  });
  beforeEach(async () => {
    const { admin } = running;
    running.clock.advance(60_000);
    account = (await admin.createAccount({ plan: 'starter' })).id;
    within = (await admin.createKey(account, { scopes: ['customers:read'] })).id;
    const guarded = { scopes: ['customers:read', 'tours:read'], allowed_ips: ['192.0.2.1'] };
    beyond = (await admin.createKey(account, guarded)).id;
    headers = await portalSession(running, account, 'admin', ['customers:*']);
  });

  const ask = (...[method, path, body]: Asked): Promise<Answer> =>
    send(`${running.url}/admin/v1${path}`, { method, headers, ...(body === undefined ? {} : { body }) });
  const read = async <T>(path: string): Promise<T> => (await ask('GET', path)).json() as T;

  it('lists only keys, requests and scopes that its scopes cover', async () => {
    const at = running.clock.now();
    const row = { accountId: account, at };
    await new RequestLogWriter(database.db, kind).write([
      requestLogRow({ ...row, keyId: within, requestId: 'req_within', seq: 1 }),
      requestLogRow({ ...row, keyId: beyond, requestId: 'req_beyond', seq: 2 }),
    ]);
    const keys = await read<{ data: { id: string }[] }>(`/accounts/${account}/api-keys`);
    expect(keys.data.map(({ id }) => id)).toEqual([within]);
    const requests = await read<{ data: { request_id: string }[] }>(`/accounts/${account}/requests`);
    expect(requests.data.map(({ request_id: id }) => id)).toEqual(['req_within']);
    const ofBeyond = await read<{ data: object[] }>(`/accounts/${account}/requests?api_key_id=${beyond}&order=asc`);
    expect(ofBeyond.data).toEqual([]);
    expect((await ask('GET', `/accounts/${account}/requests/req_within`)).status).toBe(200);
    expect((await ask('GET', `/accounts/${account}/requests/req_beyond`)).status).toBe(404);
    const scopes = await read<{ data: { scope: string }[] }>('/scopes');
    expect(scopes.data.map(({ scope }) => scope)).toEqual(['customers:*', 'customers:read', 'customers:write']);
    expect(await read('/me')).toMatchObject({ portal: { scopes: ['customers:*'] } });
  });

  it('lists exactly the keys that the check of a single key would allow', async () => {
    const { admin, modules } = running;
    const sets = [['*'], ['customers:*'], ['customers:write'], ['tours:*'], ['customers:read', 'tours:*']];
    for (const scopes of sets) await admin.createKey(account, { scopes });
    const whole = await modules.accounts.get(account);
    const page = { limit: 100, cursor: undefined, sort: 'created', order: 'asc' } as const;
    const { data: all } = await modules.keyStore.list(whole, page);
    expect(all).toHaveLength(7);
    const grants = [['*'], ['customers:*'], ['customers:read'], ['tours:read', 'customers:write'], ['custom:*']];
    for (const granted of grants) {
      const { data } = await modules.keyStore.list(whole, { ...page, granted });
      const covered = all.filter(({ scopes }) => missingScopes(granted, scopes).length === 0);
      expect([granted, data.map(({ id }) => id)]).toEqual([granted, covered.map(({ id }) => id)]);
    }
  });

  it('reads only a page of an account with many keys from the database', async () => {
    for (let key = 0; key < 12; key++) await running.admin.createKey(account, { scopes: ['customers:read'] });
    largest = 0;
    const { data } = await read<{ data: object[] }>(`/accounts/${account}/api-keys?limit=2`);
    expect(data).toHaveLength(2);
    expect((await ask('GET', `/accounts/${account}/requests?limit=2`)).status).toBe(200);
    expect(largest).toBeLessThan(5);
  });

  it('reads usage and adjustments only of keys within its scopes', async () => {
    const { admin } = running;
    const row = { account_id: account, day: 20_261_101, operation: 'listCustomers', period: 20_261_101, cost: 1 };
    for (const key of [within, beyond, '']) {
      const of = { api_key_id: key, outcome: 'success', requests: 1, updated_at: 1 };
      await database.db
        .insertInto('usage_daily')
        .values({ ...row, ...of })
        .execute();
    }
    for (const key of [within, beyond]) {
      const adjustment = { window: 'month', api_key_id: key, type: 'set', amount: 5, reason: 'fair' };
      await admin.call('POST', `/accounts/${account}/quota-adjustments`, adjustment);
    }
    const usage = `/accounts/${account}/usage`;
    const days = 'from=2026-11-01&to=2026-11-01';
    const counted = async (query: string) => (await read<{ data: object[] }>(`${usage}?${days}&${query}`)).data;
    expect(await counted('group_by=api_key')).toEqual([{ api_key_id: within, requests: 1, cost: 1 }]);
    expect(await counted('group_by=operation')).toEqual([{ operation: 'listCustomers', requests: 1, cost: 1 }]);
    expect(await counted(`group_by=day&api_key_id=${within}`)).toMatchObject([{ requests: 1 }]);
    const csv = (await ask('GET', `${usage}?${days}&format=csv&group_by=api_key`)).text;
    expect(csv).toContain(within);
    expect(csv).not.toContain(beyond);
    for (const query of ['', '&group_by=day', '&group_by=day&format=csv', '&forecast=true']) {
      const refused = await ask('GET', `${usage}?api_key_id=${beyond}${query}`);
      expect([query, refused.status, refused.json()]).toEqual([
        query,
        403,
        expect.objectContaining({ code: 'forbidden', missing_scopes: ['tours:read'] }),
      ]);
    }
    const adjustments = await read<{ data: { api_key_id: string }[] }>(`/accounts/${account}/quota-adjustments`);
    expect(adjustments.data.map(({ api_key_id: id }) => id)).toEqual([within]);
  });

  it('can neither read nor change a key with an additional scope', async () => {
    const asked: readonly Asked[] = [
      ['GET', `/api-keys/${beyond}`],
      ['GET', `/api-keys/${beyond}/impact`],
      ['POST', '/explain', { api_key_id: beyond, operation: 'listTours' }],
      ['PATCH', `/api-keys/${beyond}`, { allowed_ips: [], limits: null, expires_at: null }],
      ['PATCH', `/api-keys/${beyond}`, { scopes: ['customers:read'] }],
      ['PATCH', `/api-keys/${beyond}`, { name: 'Renamed' }],
      ['POST', `/api-keys/${beyond}/pause`],
      ['POST', `/api-keys/${beyond}/resume`],
      ['POST', `/api-keys/${beyond}/rotate`, { overlap_seconds: 0 }],
      ['DELETE', `/api-keys/${beyond}`],
    ];
    for (const one of asked) {
      const answer = await ask(...one);
      expect([...one.slice(0, 2), answer.status, answer.json()]).toEqual([
        ...one.slice(0, 2),
        403,
        expect.objectContaining({ code: 'forbidden', missing_scopes: ['tours:read'] }),
      ]);
    }
    expect(await running.modules.keyStore.get(beyond)).toMatchObject({ version: 1, allowed_ips: ['192.0.2.1'] });
  });

  it('manages keys within its scopes, and cannot give them other scopes', async () => {
    const asked: readonly (readonly [number, ...Asked])[] = [
      [403, 'POST', `/accounts/${account}/api-keys`, { name: 'x', scopes: ['*'] }],
      [201, 'POST', `/accounts/${account}/api-keys`, { name: 'x', scopes: ['customers:write'] }],
      [403, 'PATCH', `/api-keys/${within}`, { scopes: ['customers:read', 'tours:read'] }],
      [200, 'PATCH', `/api-keys/${within}`, { scopes: ['customers:*'], limits: { minute: 10 } }],
      [200, 'POST', '/explain', { api_key_id: within, operation: 'listCustomers' }],
      [201, 'POST', `/api-keys/${within}/rotate`, { overlap_seconds: 0 }],
      [200, 'POST', `/api-keys/${within}/pause`],
      [200, 'DELETE', `/api-keys/${within}`],
    ];
    for (const [status, ...one] of asked) {
      expect([...one.slice(0, 2), (await ask(...one)).status]).toEqual([...one.slice(0, 2), status]);
    }
  });

  it('can read neither events nor webhook deliveries, nor manage endpoints', async () => {
    const { endpoint, delivery, event } = await newWebhook(running, account);
    const asked: readonly Asked[] = [
      ['GET', `/accounts/${account}/events`],
      ['GET', `/events/${event}`],
      [
        'POST',
        `/accounts/${account}/webhook-endpoints`,
        { url: 'https://a.trailgate.dev/', event_types: ['customer.*'] },
      ],
      ['GET', `/accounts/${account}/webhook-endpoints`],
      ['PATCH', `/webhook-endpoints/${endpoint}`, { url: 'https://a.trailgate.dev/' }],
      ['POST', `/webhook-endpoints/${endpoint}/rotate-secret`, {}],
      ['POST', `/webhook-endpoints/${endpoint}/replay`, { status: 'all' }],
      ['GET', `/webhook-deliveries/${delivery}`],
    ];
    for (const one of asked) {
      const answer = await ask(...one);
      expect([...one.slice(0, 2), answer.status, answer.json().code]).toEqual([...one.slice(0, 2), 403, 'forbidden']);
    }
  });
});
