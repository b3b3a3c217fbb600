/**
 * Deliveries on request, on SQLite and PostgreSQL. Covers test deliveries, and retries of one delivery, of all failed
 * ones, or of a time span.
 */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import type { WebhookDeliveryTable } from '../../src/stores/database/tables/webhook-tables.js';
import { signatureFields } from '../../src/webhooks/signing/webhook-signature.js';
import { parseWebhookSecret } from '../../src/webhooks/signing/webhook-secret.js';
import { startAdmin, type RunningAdmin } from '../support/admin-application.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { expectProblem } from '../support/problem.js';
import { addServiceEvent, PUBLIC_URL, type MadeEndpoint } from '../support/webhook-endpoints.js';

interface Delivery {
  readonly id: string;
  readonly status: string;
  readonly reason: string | null;
  readonly event_id: string;
  readonly payload: string;
  readonly attempt_log: readonly { readonly status_code: number | null; readonly error: string | null }[];
}

const WEBHOOKS = { allowHttp: true, allowPrivateNetworks: ['127.0.0.0/8'] };
const MINUTE_MS = 60_000;
/** Status for a receiver that accepts the request and never responds. */
const NEVER = 0;

describeOnDatabases('a webhook endpoint', (kind) => {
  let database: DatabaseHandle;
  let running: RunningAdmin;
  let accountId: string;
  let receiver: Server;
  let status = 204;
  const received: { readonly request: IncomingMessage; readonly body: Buffer }[] = [];

  beforeAll(async () => {
    database = await testDatabase(kind);
    receiver = createServer((request, response) => {
      void buffer(request).then((body) => {
        received.push({ request, body });
        if (status === NEVER) return;
        response.writeHead(status).end(status === 204 ? undefined : 'not now');
      });
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  });
  afterAll(async () => {
    receiver.closeAllConnections();
    receiver.close();
    await database.close();
  });
  beforeEach(async () => {
    running = await startAdmin(database, { webhooks: WEBHOOKS, events: ['customer.created', 'customer.deleted'] });
    accountId = (await running.admin.createAccount({ plan: 'starter' })).id;
    received.length = 0;
    status = 204;
  });
  afterEach(() => running.close());

  const receiverUrl = () => `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hooks?shop=1`;
  const create = (fields: object = {}) =>
    running.admin.call<MadeEndpoint>('POST', `/accounts/${accountId}/webhook-endpoints`, {
      url: receiverUrl(),
      ...fields,
    });
  const test = (id: string, body: object = {}) =>
    running.admin.call<Delivery>('POST', `/webhook-endpoints/${id}/test`, body);
  const replay = async (id: string, body: object = {}) =>
    (await running.admin.call<{ replayed: number }>('POST', `/webhook-endpoints/${id}/replay`, body)).replayed;
  const rows = (id: string) =>
    database.db.selectFrom('webhook_delivery').selectAll().where('endpoint_id', '=', id).orderBy('id').execute();
  const end = async (ids: readonly string[], fields: Partial<WebhookDeliveryTable>) =>
    database.db
      .updateTable('webhook_delivery')
      .set({ attempts: 3, ...fields })
      .where('id', 'in', ids)
      .execute();
  const states = async (id: string) => (await rows(id)).map(({ state, cycle }) => `${state} ${cycle}`);
  const laneDueAt = async (id: string) =>
    (await database.db.selectFrom('webhook_lane').selectAll().where('endpoint_id', '=', id).executeTakeFirst())?.due_at;

  it('gets a test as one signed attempt, whose outcome is in the response', async () => {
    const { id, secret } = await create();
    const delivery = await test(id);
    expect(delivery).toMatchObject({ status: 'succeeded', kind: 'test', type: 'webhook.test', attempts: 1 });
    expect(delivery.attempt_log).toMatchObject([{ number: 1, status_code: 204, address: '127.0.0.1' }]);
    const [{ request, body } = { request: undefined, body: Buffer.alloc(0) }] = received;
    expect(request?.url).toBe('/hooks?shop=1');
    expect(body.toString()).toBe(delivery.payload);
    const keys = { secrets: [parseWebhookSecret(secret)!], privateKeys: [] };
    const atMs = Number(request?.headers['webhook-timestamp']) * 1_000;
    const { 'webhook-signature': v1 } = signatureFields(delivery.event_id, atMs, body, keys);
    expect(String(request?.headers['webhook-signature']).split(' ')).toContain(v1);
    expect(request?.headers['webhook-id']).toBe(delivery.event_id);
    expect(received).toHaveLength(1);
  });

  it('gets a test with the example of a known type, also while it is paused', async () => {
    const { id } = await create({ event_types: ['customer.*'] });
    await running.admin.call('PATCH', `/webhook-endpoints/${id}`, { status: 'paused' });
    const delivery = await test(id, { type: 'quota.threshold_reached' });
    expect(JSON.parse(delivery.payload)).toMatchObject({ type: 'quota.threshold_reached', data: { limit: 10_000 } });
    const wrong = await running.admin.request('POST', `/webhook-endpoints/${id}/test`, { type: 'customer.creatd' });
    expectProblem(wrong, 'validation_failed');
    expect(received).toHaveLength(1);
    // No other endpoint gets the test, and it is no event that can be replayed to others.
    const other = await create();
    expect(await replay(other.id, { status: 'all' })).toBe(0);
  });

  it('gets at most ten tests a minute, and all endpoints of an account at most thirty', async () => {
    const [first, ...others] = await Promise.all([create(), create(), create(), create()]);
    const statuses = async (id: string, count: number): Promise<number[]> => {
      const all: number[] = [];
      for (let sent = 0; sent < count; sent++) {
        all.push((await running.admin.request('POST', `/webhook-endpoints/${id}/test`, {})).status);
      }
      return all;
    };
    expect(await statuses(first.id, 11)).toEqual([...Array.from({ length: 10 }, () => 200), 429]);
    for (const { id } of others.slice(0, 2)) expect(new Set(await statuses(id, 10))).toEqual(new Set([200]));
    const refused = await running.admin.request('POST', `/webhook-endpoints/${others[2]?.id}/test`, {});
    expectProblem(refused, 'too_many_requests');
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect(received).toHaveLength(30);
    const { id: otherAccount } = await running.admin.createAccount({ plan: 'starter' });
    const path = `/accounts/${otherAccount}/webhook-endpoints`;
    const elsewhere = await running.admin.call<MadeEndpoint>('POST', path, { url: receiverUrl() });
    expect(await statuses(elsewhere.id, 1)).toEqual([200]);
    running.clock.advance(61_000);
    expect(await statuses(first.id, 1)).toEqual([200]);
  });

  it('reports a failed test after one attempt, and the workers can retry it on request', async () => {
    const { id } = await create();
    status = 500;
    const delivery = await test(id);
    expect(delivery).toMatchObject({ status: 'failed', attempts: 1 });
    expect(delivery.attempt_log).toMatchObject([{ status_code: 500, response_body: 'not now', error: null }]);
    expect(await running.admin.call('GET', `/webhook-endpoints/${id}`)).toMatchObject({
      status: 'enabled',
      failures: 0,
    });
    const again = await running.admin.call<Delivery>('POST', `/webhook-deliveries/${delivery.id}/retry`);
    expect(again).toMatchObject({ status: 'pending', replays: 1, attempts: 0 });
    expect(await laneDueAt(id)).toBe(running.clock.now());
  });

  it('fails a test after the configured timeout if its receiver does not respond', async () => {
    await running.close();
    running = await startAdmin(database, { webhooks: { ...WEBHOOKS, timeout: '1s' } });
    const { id } = await create();
    status = NEVER;
    const atMs = performance.now();
    const delivery = await test(id);
    expect(delivery.attempt_log).toMatchObject([{ status_code: null, error: 'response_timeout' }]);
    expect(performance.now() - atMs).toBeGreaterThanOrEqual(1_000);
    // Shorter than the default timeout of 15 s.
    expect(performance.now() - atMs).toBeLessThan(10_000);
  });

  it('fails a test without a connection if its name resolves to a private address, and says so', async () => {
    await running.close();
    running = await startAdmin(database, { resolve: async () => ['10.0.0.1', '127.0.0.1'] });
    const { id } = await create({ url: PUBLIC_URL });
    const delivery = await test(id);
    expect(delivery.attempt_log).toMatchObject([{ status_code: null, address: null }]);
    expect(delivery.attempt_log[0]?.error).toMatch(/^address_refused \((private|loopback)\)$/);
    expect(received).toEqual([]);
  });

  it('gets a delivery again on each retry request, unless it is held or the endpoint is paused', async () => {
    const { id } = await create();
    await addServiceEvent(running, accountId);
    const [delivery] = await rows(id);
    const retry = () => running.admin.request('POST', `/webhook-deliveries/${delivery!.id}/retry`);
    for (const cycle of [1, 2]) {
      await end([delivery!.id], { state: 'succeeded' });
      expect((await retry()).json()).toMatchObject({ status: 'pending', replays: cycle, attempts: 0, reason: null });
    }
    await end([delivery!.id], { state: 'held' });
    expectProblem(await retry(), 'conflict');
    await end([delivery!.id], { state: 'failed' });
    await running.admin.call('PATCH', `/webhook-endpoints/${id}`, { status: 'paused' });
    expectProblem(await retry(), 'webhook_endpoint_disabled');
    expectProblem(
      await running.admin.request('POST', `/webhook-endpoints/${id}/replay`, {}),
      'webhook_endpoint_disabled',
    );
    expect(await states(id)).toEqual(['failed 2']);
    await running.admin.call('DELETE', `/webhook-endpoints/${id}`);
    expectProblem(await retry(), 'resource_not_found');
  });

  it('gets failed deliveries again, by time span, type or status, but no pending ones', async () => {
    const { id } = await create();
    const times: string[] = [];
    for (const type of ['customer.created', 'customer.deleted', 'customer.created', 'customer.created']) {
      times.push(new Date(running.clock.now()).toISOString());
      await addServiceEvent(running, accountId, type);
      running.clock.advance(MINUTE_MS);
    }
    const ids = (await rows(id)).map((row) => row.id);
    await end(ids.slice(0, 2), { state: 'failed', reason: 'exhausted' });
    await end(ids.slice(2, 3), { state: 'succeeded' });
    expect(await replay(id, { since: times[1] })).toBe(1);
    expect(await states(id)).toEqual(['failed 0', 'pending 1', 'succeeded 0', 'pending 0']);
    expect(await replay(id, { types: ['customer.deleted', 'quota.*'] })).toBe(0);
    expect(await replay(id, { types: ['customer.*'], until: times[0] })).toBe(1);
    expect(await replay(id)).toBe(0);
    expect(await replay(id, { status: 'succeeded' })).toBe(1);
    expect(await states(id)).toEqual(['pending 1', 'pending 1', 'pending 1', 'pending 0']);
  });

  it('gets events older than itself when all are replayed, each only once', async () => {
    for (let count = 0; count < 3; count++) await addServiceEvent(running, accountId);
    await addServiceEvent(running, accountId, 'customer.deleted');
    running.clock.advance(MINUTE_MS);
    const { id } = await create({ event_types: ['customer.created'] });
    expect(await replay(id)).toBe(0);
    expect(await replay(id, { status: 'all' })).toBe(3);
    expect(await replay(id, { status: 'all' })).toBe(0);
    expect(await states(id)).toEqual(['pending 0', 'pending 0', 'pending 0']);
    const log = await running.admin.call<{ data: { action: string; after: object }[] }>(
      'GET',
      `/audit-log?account_id=${accountId}`,
    );
    expect(log.data[1]).toMatchObject({ action: 'webhook_endpoint.replayed', after: { matching: 0, status: 'all' } });
  });

  it('gets more deliveries than one statement changes, each once, even if a replay fails halfway', async () => {
    const { id } = await create();
    await addServiceEvent(running, accountId);
    const [first] = await rows(id);
    const many = Array.from({ length: 2_100 }, (_, at) => {
      const name = String(at).padStart(25, '0');
      return { ...first!, id: `whd_${name}`, event_id: `evt_${name}`, state: 'failed' as const };
    });
    for (let at = 0; at < many.length; at += 300) {
      await database.db
        .insertInto('webhook_delivery')
        .values(many.slice(at, at + 300))
        .execute();
    }
    // A trigger makes an update of the second thousand fail. The audit log still records the request.
    const stuck = many[1_500]!.id;
    const raise = "begin select raise(abort, 'stuck'); end";
    const refuse = {
      sqlite: `create trigger stuck before update on webhook_delivery when old.id = '${stuck}' ${raise}`,
      postgres: `alter table webhook_delivery add constraint stuck check (id <> '${stuck}' or cycle = 0)`,
    };
    await sql.raw(refuse[kind]).execute(database.db);
    await expect(replay(id)).rejects.toThrow(/answered 5\d\d/);
    expect((await states(id)).filter((state) => state === 'pending 1')).toHaveLength(1_000);
    const { data } = await running.admin.call<{ data: { action: string; after: object }[] }>(
      'GET',
      `/audit-log?account_id=${accountId}`,
    );
    expect(data[0]).toMatchObject({ action: 'webhook_endpoint.replayed', after: { matching: 2_100 } });
    const allow = { sqlite: 'drop trigger stuck', postgres: 'alter table webhook_delivery drop constraint stuck' };
    await sql.raw(allow[kind]).execute(database.db);
    // A second replay changes the remaining deliveries.
    expect(await replay(id)).toBe(1_100);
    expect(new Set(await states(id))).toEqual(new Set(['pending 1', 'pending 0']));
  });
});
