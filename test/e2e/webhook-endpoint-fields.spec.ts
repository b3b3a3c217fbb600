/** Fields of a webhook endpoint in the admin API, on SQLite and PostgreSQL. Invalid ones are refused with a pointer. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { ASLEEP } from '../../src/outbox/lane-rows.js';
import { ADMIN_TOKEN, startAdmin, type RunningAdmin } from '../support/admin-application.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { send, type Answer } from '../support/http.js';
import { expectProblem } from '../support/problem.js';
import { PUBLIC_URL as URL, type MadeEndpoint } from '../support/webhook-endpoints.js';

type Endpoint = MadeEndpoint & { readonly waiting: number };

const EVENTS = ['customer.created', 'customer.deleted'];

describeOnDatabases('a webhook endpoint', (kind) => {
  let database: DatabaseHandle;
  /** Program that all tests share, except for those that need their own. */
  let shared: RunningAdmin;
  let running: RunningAdmin;
  let accountId: string;

  beforeAll(async () => {
    database = await testDatabase(kind);
    shared = await startAdmin(database, { events: EVENTS });
  });
  afterAll(async () => {
    await shared?.close();
    await database.close();
  });
  beforeEach(async () => {
    running = shared;
    // Limits apply per minute.
    running.clock.advance(60_000);
    accountId = (await running.admin.createAccount({ plan: 'starter' })).id;
  });
  afterEach(async () => {
    if (running !== shared) await running.close();
  });

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

  it('is created with a secret that is shown once, and is then shown with its public key', async () => {
    const answer = await running.admin.request('POST', path(), { url: URL, event_types: ['customer.*'] });
    const made = answer.json<Endpoint>();
    expect([answer.status, answer.headers['location']]).toEqual([201, `/admin/v1/webhook-endpoints/${made.id}`]);
    expect(made.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const shown = await get(made.id);
    expect(shown).toMatchObject({ url: URL, status: 'enabled', event_types: ['customer.*'], waiting: 0 });
    expect(shown.public_keys).toEqual([expect.objectContaining({ expires_at: null })]);
    expect(shown.public_keys[0]?.key).toMatch(/^whpk_[A-Za-z0-9+/]{43}=$/);
    expect(shown).not.toHaveProperty('secret');
    const list = await running.admin.call<{ data: Endpoint[] }>('GET', path());
    expect(list.data.map(({ id }) => id)).toEqual([made.id]);
    expect((await laneOf(made.id))?.due_at).toBe(ASLEEP);
  });

  it.each([
    ['http://shop.trailgate.dev/', 'scheme'],
    ['https://127.0.0.1/', 'loopback'],
    ['https://2130706433/', 'host_spelling'],
    ['https://[::ffff:10.0.0.1]/', 'embedded_ipv4'],
    ['https://169.254.169.254/latest', 'link_local'],
    ['https://me:pw@shop.trailgate.dev/', 'userinfo'],
    ['https://shop.trailgate.dev:22/', 'port'],
    ['shop', 'not_a_url'],
  ])('cannot be created with or moved to %s, and the error points to the URL', async (url, code) => {
    const { id } = await create();
    for (const answer of [await running.admin.request('POST', path(), { url }), await patch(id, { url })]) {
      expectProblem(answer, 'validation_failed');
      expect(answer.json<{ errors: object[] }>().errors).toEqual([expect.objectContaining({ pointer: '#/url', code })]);
    }
    expect((await get(id)).url).toBe(URL);
  });

  it.each([
    ['a type that there is not', { event_types: ['customer.creatd'] }, '#/event_types/0'],
    ['a family of everything', { event_types: ['*'] }, '#/event_types/0'],
    ['a pause of nothing', { retry_schedule: [0] }, '#/retry_schedule/0'],
    ['too many pauses', { retry_schedule: Array.from({ length: 21 }, () => 1) }, '#/retry_schedule'],
    ['pauses of eight days', { retry_schedule: Array.from({ length: 8 }, () => 86_400) }, '#/retry_schedule'],
    ['a rate above the highest', { rate_per_second: 1_001 }, '#/rate_per_second'],
    ['no place at all', { concurrency: 0 }, '#/concurrency'],
    ['a deadline above the longest', { timeout_ms: 30_001 }, '#/timeout_ms'],
    ['a short secret', { secret: 'whsec_short' }, '#/secret'],
    ['a secret of 65 bytes', { secret: `whsec_${Buffer.alloc(65, 7).toString('base64')}` }, '#/secret'],
    ['a long description', { description: 'a'.repeat(501) }, '#/description'],
    ['a field that there is not', { headers: {} }, '#/headers'],
  ])('cannot be created with %s', async (_what, fields, pointer) => {
    const answer = await running.admin.request('POST', path(), { url: URL, ...fields });
    expectProblem(answer, 'validation_failed');
    expect(answer.json<{ errors: { pointer: string }[] }>().errors.map((error) => error.pointer)).toEqual([pointer]);
    expect((await running.admin.call<{ data: object[] }>('GET', path())).data).toEqual([]);
  });

  it('keeps an event type that is no longer configured, but accepts no other such type', async () => {
    const { id } = await create({ event_types: ['customer.created'] });
    running = await startAdmin(database, { events: [] });
    expect((await patch(id, { event_types: ['customer.created', 'quota.*'] })).status).toBe(200);
    expectProblem(await patch(id, { event_types: ['customer.created', 'customer.deleted'] }), 'validation_failed');
  });

  it('cannot be created beyond the limit of its account, even by concurrent requests', async () => {
    running = await startAdmin(database, { webhooks: { maxEndpoints: 3 } });
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => running.admin.request('POST', path(), { url: URL })),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 201, 201, 409, 409, 409]);
    expectProblem(
      answers.find(({ status }) => status === 409)!,
      'too_many_endpoints',
    );
    const [first] = (await running.admin.call<{ data: Endpoint[] }>('GET', path())).data;
    await running.admin.call('DELETE', `/webhook-endpoints/${first!.id}`);
    expect((await running.admin.request('POST', path(), { url: URL })).status).toBe(201);
  });

  it('has its possible event types listed, with a schema for those of the gateway', async () => {
    const { data } = await running.admin.call<{ data: { type: string; source: string; schema: object | null }[] }>(
      'GET',
      '/event-types',
    );
    expect(data.map(({ type }) => type)).toEqual(
      expect.arrayContaining([...EVENTS, 'quota.threshold_reached', 'webhook.test']),
    );
    for (const { source, schema } of data) expect(schema !== null).toBe(source === 'gateway');
  });
});
