/**
 * Webhook endpoints in the admin API, on SQLite and PostgreSQL. Covers concurrent edits, and the waiting deliveries of
 * endpoints that are paused, edited or deleted.
 */
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { newId } from '../../src/stores/database/ids.js';
import type { WebhookDeliveryTable } from '../../src/stores/database/tables/webhook-tables.js';
import { ASLEEP } from '../../src/outbox/lane-rows.js';
import { ADMIN_TOKEN, startAdmin, type RunningAdmin } from '../support/admin-application.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { send, type Answer } from '../support/http.js';
import { expectProblem } from '../support/problem.js';
import { newMember, signIn } from '../support/signed-in.js';
import { addServiceEvent, PUBLIC_URL as URL, type MadeEndpoint } from '../support/webhook-endpoints.js';
import { dueOf } from '../support/webhooks.js';

type Endpoint = MadeEndpoint & { readonly waiting: number };

const EVENTS = ['customer.created', 'customer.deleted'];

describeOnDatabases('a webhook endpoint', (kind) => {
  let database: DatabaseHandle;
  let running: RunningAdmin;
  let accountId: string;

  beforeAll(async () => {
    database = await testDatabase(kind);
  });
  afterAll(() => database.close());
  beforeEach(async () => {
    running = await startAdmin(database, { events: EVENTS });
    accountId = (await running.admin.createAccount({ plan: 'starter' })).id;
  });
  afterEach(() => running.close());

  const path = () => `/accounts/${accountId}/webhook-endpoints`;
  const create = (fields: object = {}) => running.admin.call<Endpoint>('POST', path(), { url: URL, ...fields });
  const get = (id: string) => running.admin.call<Endpoint>('GET', `/webhook-endpoints/${id}`);
  const patch = (id: string, body: object, headers: Record<string, string> = {}): Promise<Answer> =>
    send(`${running.url}/admin/v1/webhook-endpoints/${id}`, {
      method: 'PATCH',
      body,
      headers: { Authorization: `Bearer ${ADMIN_TOKEN}`, ...headers },
    });
  const laneOf = (id: string) =>
    database.db.selectFrom('webhook_lane').select('due_at').where('endpoint_id', '=', id).executeTakeFirst();
  const deliveries = (id: string) =>
    database.db.selectFrom('webhook_delivery').selectAll().where('endpoint_id', '=', id).orderBy('id').execute();
  const change = (id: string, fields: Partial<WebhookDeliveryTable>) =>
    database.db.updateTable('webhook_delivery').set(fields).where('id', '=', id).execute();
  const addEvent = (type?: string) => addServiceEvent(running, accountId, type);

  it('rejects an edit of an outdated version, names the changed fields, and ignores an identical edit', async () => {
    const { id } = await create();
    expect((await patch(id, { description: 'Shop' }, { 'If-Match': '"1"' })).json()).toMatchObject({ version: 2 });
    const late = await patch(id, { url: `${URL}/2` }, { 'If-Match': '"1"' });
    expectProblem(late, 'precondition_failed');
    expect(late.json<{ errors: object[] }>().errors).toEqual([expect.objectContaining({ pointer: '#/description' })]);
    expect((await patch(id, { description: 'Shop' }, { 'If-Match': '"1"' })).json()).toMatchObject({ version: 2 });
    const known = await send(`${running.url}/admin/v1/webhook-endpoints/${id}`, {
      headers: { Authorization: `Bearer ${ADMIN_TOKEN}`, 'If-None-Match': '*' },
    });
    expect(known.status).toBe(304);
  });

  it('keeps deliveries waiting while it is paused, and makes all of them due, oldest first, when it is enabled', async () => {
    const { id } = await create();
    expect((await patch(id, { status: 'paused' })).json()).toMatchObject({ status: 'paused' });
    await addEvent();
    await addEvent();
    expect((await laneOf(id))?.due_at).toBe(ASLEEP);
    expect((await get(id)).waiting).toBe(2);
    const [first, second] = await deliveries(id);
    await change(first!.id, { due_at: running.clock.now() + 7_200_000 });
    await change(second!.id, { state: 'held' });
    running.clock.advance(3_600_000);
    expect((await patch(id, { status: 'enabled' })).json()).toMatchObject({ status: 'enabled' });
    expect((await deliveries(id)).map(({ state }) => state)).toEqual(['pending', 'pending']);
    expect((await laneOf(id))?.due_at).toBe(running.clock.now());
    const query = { nowMs: running.clock.now(), most: 8, isOrdered: false };
    const due = await dueOf(database.db, { endpointId: id, except: [] }, query);
    expect(due.map((delivery) => delivery.id)).toEqual([first!.id, second!.id]);
  });

  it('skips the waiting deliveries that are not chosen when it is enabled', async () => {
    const { id } = await create();
    const states = async () => (await deliveries(id)).map(({ state, reason }) => reason ?? state);
    await patch(id, { status: 'paused' });
    const times: string[] = [];
    for (let count = 0; count < 3; count++) {
      times.push(new Date(running.clock.now()).toISOString());
      await addEvent();
      running.clock.advance(60_000);
    }
    await patch(id, { status: 'enabled', deliver: { since: times[1], until: times[1] } });
    expect(await states()).toEqual(['skipped', 'pending', 'skipped']);
    await patch(id, { status: 'paused' });
    expectProblem(
      await patch(id, { status: 'enabled', deliver: 'none', description: 'x' }, { 'If-Match': '"1"' }),
      'precondition_failed',
    );
    expect(await states()).toEqual(['skipped', 'pending', 'skipped']);
    await patch(id, { status: 'enabled', deliver: 'none' });
    expect(await states()).toEqual(['skipped', 'skipped', 'skipped']);
    expectProblem(await patch(id, { deliver: 'none' }), 'conflict');
    expectProblem(await patch(id, { deliver: 'none', status: 'paused' }), 'conflict');
  });

  it('releases held deliveries when it is no longer ordered, and forgets failures when its URL changes', async () => {
    const { id } = await create({ ordered: true });
    await addEvent();
    const [first] = await deliveries(id);
    await change(first!.id, { state: 'held' });
    await database.db
      .updateTable('webhook_endpoint')
      .set({ failing_since: 1, failures: 9 })
      .where('id', '=', id)
      .execute();
    expect((await patch(id, { ordered: false })).json()).toMatchObject({ ordered: false, failures: 9 });
    expect((await deliveries(id)).map(({ state }) => state)).toEqual(['pending']);
    const moved = (await patch(id, { url: `${URL}/new` })).json();
    expect(moved).toMatchObject({ failing_since: null, failures: 0 });
  });

  it('can be disabled, and then be enabled again, only by operators', async () => {
    const { id } = await create();
    const owner = await signIn(running, await newMember(database, { roles: { [accountId]: 'owner' } }));
    const asOwner = (body: object) =>
      send(`${running.url}/admin/v1/webhook-endpoints/${id}`, { method: 'PATCH', body, headers: owner });
    expectProblem(await asOwner({ status: 'disabled' }), 'forbidden');
    expect((await patch(id, { status: 'disabled' })).json()).toMatchObject({ disabled_reason: 'operator' });
    for (const status of ['enabled', 'paused']) expectProblem(await asOwner({ status }), 'forbidden');
    expect((await asOwner({ description: 'Mine still' })).status).toBe(200);
    expect((await patch(id, { status: 'enabled' })).json()).toMatchObject({ status: 'enabled', disabled_reason: null });
  });

  it('fails its waiting deliveries, removes its secret and is not found after it was deleted', async () => {
    const { id } = await create();
    await addEvent();
    expect((await running.admin.request('DELETE', `/webhook-endpoints/${id}`)).status).toBe(204);
    expect((await deliveries(id)).map(({ reason }) => reason)).toEqual(['endpoint_deleted']);
    expect(await laneOf(id)).toBeUndefined();
    const secrets = database.db.selectFrom('webhook_secret').selectAll().where('endpoint_id', '=', id);
    expect(await secrets.execute()).toEqual([]);
    for (const [method, suffix] of [
      ['GET', ''],
      ['PATCH', ''],
      ['DELETE', ''],
      ['GET', '/deliveries'],
    ] as const) {
      const answer = await running.admin.request(
        method,
        `/webhook-endpoints/${id}${suffix}`,
        method === 'PATCH' ? { description: 'x' } : undefined,
      );
      expectProblem(answer, 'resource_not_found');
    }
    await addEvent();
    expect(await deliveries(id)).toHaveLength(1);
    const [delivery] = await deliveries(id);
    expect(await running.admin.call('GET', `/webhook-deliveries/${delivery!.id}`)).toMatchObject({ status: 'failed' });
  });

  it('records each change in the audit log, without its secret and the query of its URL', async () => {
    const { id, secret } = await create({ url: `${URL}?token=hunter2` });
    await patch(id, { url: `${URL}?token=hunter3` });
    await patch(id, { status: 'paused' });
    await patch(id, { status: 'enabled', deliver: 'none' });
    const rotated = await running.admin.call<Endpoint>('POST', `/webhook-endpoints/${id}/rotate-secret`, {});
    await running.admin.call('DELETE', `/webhook-endpoints/${id}`);
    const log = await running.admin.call<{ data: { action: string; target: object }[] }>(
      'GET',
      `/audit-log?account_id=${accountId}`,
    );
    const entries = log.data.filter(({ action }) => action.startsWith('webhook'));
    expect(entries.map(({ action }) => action).toReversed()).toEqual(
      ['created', 'updated', 'paused', 'enabled', 'secret_rotated', 'deleted'].map(
        (what) => `webhook_endpoint.${what}`,
      ),
    );
    const text = JSON.stringify(entries);
    expect(text).toContain('?…');
    for (const hidden of ['hunter', secret.slice(6), rotated.secret.slice(6)]) expect(text).not.toContain(hidden);
  });

  it('lists its deliveries newest first, with filters, and shows attempts and payload of each', async () => {
    const { id } = await create();
    for (let count = 0; count < 3; count++) await addEvent(count === 1 ? 'customer.deleted' : 'customer.created');
    const [first, second] = await deliveries(id);
    await change(first!.id, { state: 'failed', reason: 'exhausted', attempts: 2 });
    await database.db
      .insertInto('webhook_attempt')
      .values(
        [1, 2].map((number) => ({
          id: newId('wha', running.clock.now()),
          delivery_id: first!.id,
          number,
          cycle: 0,
          at: running.clock.now(),
          status_code: number === 1 ? null : 500,
          duration_ms: 12,
          error: number === 1 ? 'connect_timeout' : null,
          address: number === 1 ? null : '192.0.2.1',
          response_body: number === 1 ? null : '<b>no</b>',
        })),
      )
      .execute();
    const list = async (query: string) =>
      (
        await running.admin.call<{ data: { id: string; last_attempt: object | null }[] }>(
          'GET',
          `/webhook-endpoints/${id}/deliveries${query}`,
        )
      ).data;
    const all = await list('');
    expect(all.map((delivery) => delivery.id)).toEqual((await deliveries(id)).map((row) => row.id).toReversed());
    expect(all[2]?.last_attempt).toMatchObject({ status_code: 500, error: null });
    expect((await list('?status=failed')).map((delivery) => delivery.id)).toEqual([first!.id]);
    expect((await list('?type=customer.deleted')).map((delivery) => delivery.id)).toEqual([second!.id]);
    expect(await list(`?since=${encodeURIComponent('2100-01-01T00:00:00Z')}`)).toEqual([]);
    const page = await running.admin.call<{ next_cursor: string }>(
      'GET',
      `/webhook-endpoints/${id}/deliveries?limit=1`,
    );
    const other = await running.admin.request(
      'GET',
      `/webhook-endpoints/${id}/deliveries?limit=1&status=failed&cursor=${page.next_cursor}`,
    );
    expectProblem(other, 'invalid_cursor');
    const detail = await running.admin.call<{ payload: string; attempt_log: object[] }>(
      'GET',
      `/webhook-deliveries/${first!.id}`,
    );
    expect(detail.attempt_log).toMatchObject([
      { number: 1, status_code: null, error: 'connect_timeout' },
      { number: 2, status_code: 500, response_body: '<b>no</b>' },
    ]);
    const data = { name: expect.stringContaining(accountId) };
    expect(JSON.parse(detail.payload)).toMatchObject({ type: 'customer.created', data });
    const event = await running.admin.call('GET', `/events/${first!.event_id}`);
    expect(event).toMatchObject({ source: 'customers', resource: 'cus_1', data });
  });
});
