/**
 * Requests with events from services are accepted completely or not at all, once, and only from authorized services.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { DatabaseUnavailable } from '../../src/stores/database/database-errors.js';
import type { SignaledEndpoints } from '../../src/outbox/work-signal.js';
import { startAdmin, type RunningAdmin } from '../support/admin-application.js';
import { repeat } from '../support/counter-stores.js';
import { testDatabase } from '../support/database.js';
import { addAccount, addEndpoint, deliveriesIn } from '../support/webhooks.js';

const TOKEN = 'token-of-the-customers-service-0123456789';
const OTHER = 'token-of-the-bookings-service-0123456789';

const schema = {
  type: 'object',
  required: ['name'],
  properties: { name: { type: 'string', minLength: 1 }, email: { type: 'string', format: 'email' } },
  additionalProperties: false,
};
interface Body {
  readonly data: readonly { readonly id: string; readonly event_id: string; readonly duplicate: boolean }[];
  readonly errors: readonly { readonly pointer: string }[];
  readonly code: string;
  readonly detail: string;
}

const plain = { description: null, example: null };

describe('POST /internal/v1/events', () => {
  let database: DatabaseHandle;
  let gateway: RunningAdmin;
  let endpointId: string;
  const signals: SignaledEndpoints[] = [];
  beforeAll(async () => {
    database = await testDatabase('sqlite');
    gateway = await startAdmin(database, {
      settings: { operatorNetworks: ['127.0.0.1'], trustedProxies: ['127.0.0.1'] },
      eventTypes: [
        { name: 'customer.created', schema, ...plain },
        { name: 'customer.deleted', schema: null, ...plain },
      ],
      eventsTokens: new Map([
        ['customers', TOKEN],
        ['bookings', OTHER],
      ]),
    });
    gateway.modules.workSignal.addFollower((each) => signals.push(each));
    const now = gateway.clock.now();
    for (const id of ['acc_1', 'acc_2']) await addAccount(database.db, id, now);
    endpointId = await addEndpoint(database.db, now);
  });
  afterAll(async () => {
    await gateway.close();
    await database.close();
  });

  async function send(body: unknown, token: string | null = TOKEN, headers: Record<string, string> = {}) {
    const response = await fetch(`${gateway.url}/internal/v1/events`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...headers,
      },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
    return { status: response.status, body: (await response.json()) as Body, response };
  }

  let number = 0;
  const event = (more: object = {}) => ({
    id: `cus_evt_${++number}`,
    type: 'customer.created',
    account_id: 'acc_1',
    data: { name: 'Ana' },
    ...more,
  });
  const eventCount = async () => (await database.db.selectFrom('event').select('id').execute()).length;

  it('accepts events, returns the number of deliveries of each, and notifies the delivery worker', async () => {
    const [first, second] = [
      event({ resource: 'cus_1', timestamp: '2026-11-18T16:26:40.5+01:00' }),
      event({ account_id: 'acc_2', type: 'customer.deleted' }),
    ];
    gateway.clock.advance(Date.parse('2026-11-18T16:00:00Z') - gateway.clock.now());
    const { status, body } = await send({ events: [first, second] });
    expect([status, body]).toEqual([
      202,
      {
        data: [
          { id: first.id, event_id: expect.stringMatching(/^evt_/), deliveries: 1, duplicate: false },
          { id: second.id, event_id: expect.stringMatching(/^evt_/), deliveries: 0, duplicate: false },
        ],
      },
    ]);
    expect(signals).toEqual([[endpointId]]);
    const row = database.db.selectFrom('event').selectAll().where('dedupe_key', '=', `svc:customers:${first.id}`);
    expect(await row.executeTakeFirst()).toMatchObject({
      source: 'customers',
      resource: 'cus_1',
      data: '{"name":"Ana"}',
      occurred_at: Date.parse('2026-11-18T15:26:40.500Z'),
    });
  });

  it('accepts the same event once, regardless of its JSON notation, and reports duplicates', async () => {
    const once = event({ data: { name: 'Ben', email: 'ben@example.com' } });
    const again = { ...once, data: { email: 'ben@example.com', name: 'Ben' } };
    const before = await eventCount();
    const [{ body: first }, { body: second }] = [
      await send({ events: [once] }),
      await send({ events: [again, again] }),
    ];
    const eventId = first.data[0]?.event_id;
    expect(second).toEqual({
      data: [again, again].map(({ id }) => ({ id, event_id: eventId, deliveries: 1, duplicate: true })),
    });
    expect(await eventCount()).toBe(before + 1);
  });

  it.each([
    ['other data', { data: { name: 'Cy' } }],
    ['another account', { account_id: 'acc_2' }],
    ['another type', { type: 'customer.deleted' }],
    ['another resource', { resource: 'cus_9' }],
  ])('refuses a reused ID with %s, also within one request, and stores no other event', async (_what, change) => {
    const once = event();
    await send({ events: [once] });
    const before = await eventCount();
    const { status, body } = await send({ events: [event(), { ...once, ...change }] });
    expect([status, body.code]).toEqual([409, 'event_conflict']);
    expect(body.detail).toContain(once.id);
    const twice = event();
    expect((await send({ events: [twice, { ...twice, ...change }] })).status).toBe(409);
    expect(await eventCount()).toBe(before);
  });

  it('accepts the same event ID from two services', async () => {
    const same = event();
    const [one, other] = [await send({ events: [same] }), await send({ events: [same] }, OTHER)];
    expect([one, other].map(({ body }) => body.data[0]?.duplicate)).toEqual([false, false]);
  });

  it.each([
    ['no events', { events: [] }, '#/events'],
    ['1,001 events', { events: repeat(1_001, () => event()) }, '#/events'],
    ['an id with a space', { events: [event({ id: 'a b' })] }, '#/events/0/id'],
    ['a name that is not known', { events: [event({ accountId: 'acc_1' })] }, '#/events/0/accountId'],
    ['data that is no object', { events: [event(), event({ data: [] })] }, '#/events/1/data'],
    ['a type that nobody has named', { events: [event(), event({ type: 'customer.moved' })] }, '#/events/1/type'],
    ['data against its schema', { events: [event({ data: { name: '' } })] }, '#/events/0/data/name'],
    ['data of a wrong format', { events: [event({ data: { name: 'A', email: 'x' } })] }, '#/events/0/data/email'],
    ['an account that is not there', { events: [event({ account_id: 'acc_none' })] }, '#/events/0/account_id'],
    ['a time without zone', { events: [event({ timestamp: '2026-11-18T16:00:00' })] }, '#/events/0/timestamp'],
    ['a time in an hour', { events: [event({ timestamp: '2026-11-18T17:00:00Z' })] }, '#/events/0/timestamp'],
    ['a time of last year', { events: [event({ timestamp: '2025-11-18T17:00:00Z' })] }, '#/events/0/timestamp'],
    ['data of 256 KiB and more', { events: [event({ data: { name: 'x'.repeat(262_144) } })] }, '#/events/0/data'],
  ])('refuses %s with a pointer to it, and stores nothing of the request', async (_what, body, pointer) => {
    const before = await eventCount();
    const { status, body: problem } = await send({ ...body, events: [...body.events] });
    expect([status, problem.code]).toEqual([422, 'validation_failed']);
    expect(problem.errors.map((error) => error.pointer)).toEqual([pointer]);
    expect(await eventCount()).toBe(before);
  });

  it('reports the first 20 errors of a request with 100 invalid events', async () => {
    const { body } = await send({ events: repeat(100, () => event({ type: 'x.y' })) });
    expect(body.errors).toHaveLength(20);
  });

  it('accepts a request of 1 MiB and refuses one byte more', async () => {
    const padded = (bytes: number) => {
      const body = JSON.stringify({ events: [event()] });
      return body + ' '.repeat(bytes - body.length);
    };
    expect((await send(padded(1_048_576))).status).toBe(202);
    expect((await send(padded(1_048_577))).status).toBe(413);
  });

  it('refuses callers without a service token, also operators, before it parses the body', async () => {
    const { admin } = gateway;
    for (const token of [null, `${TOKEN}x`, admin.token]) {
      const { status, response } = await send('{', token);
      expect([status, response.headers.get('www-authenticate')?.startsWith('Bearer')]).toEqual([401, true]);
    }
    expect((await send({ events: [event()] })).status).toBe(202);
  });

  it('is 404 for addresses outside operatorNetworks', async () => {
    const { status, body } = await send({ events: [event()] }, TOKEN, { 'x-forwarded-for': '192.0.2.7' });
    expect([status, body.code]).toEqual([404, 'route_not_found']);
  });

  it('throttles an address after repeated wrong tokens, but still accepts the right one from it', async () => {
    const statuses = [];
    for (let attempt = 0; attempt < 12; attempt++) statuses.push((await send({}, `wrong-${attempt}`)).status);
    expect(statuses.at(-1)).toBe(429);
    expect((await send({ events: [event()] })).status).toBe(202);
  });

  it('writes many small requests in fewer transactions, and answers each with its own event', async () => {
    const { executed, done } = countTransactions(database);
    const sent = repeat(60, () => event());
    const responses = await Promise.all(sent.map((each) => send({ events: [each] })));
    done();
    expect(responses.map(({ body }) => body.data[0]?.id)).toEqual(sent.map(({ id }) => id));
    expect(executed()).toBeLessThan(45);
    expect((await deliveriesIn(database.db)).length).toBeGreaterThanOrEqual(60);
  });

  it('answers 503 and stores nothing if the database is unavailable', async () => {
    const { transaction } = database.db;
    const before = await eventCount();
    database.db.transaction = () => {
      throw new DatabaseUnavailable('away');
    };
    const { status, body, response } = await send({ events: [event()] });
    database.db.transaction = transaction;
    expect([status, body.code]).toEqual([503, 'database_unavailable']);
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await eventCount()).toBe(before);
  });
});

/** Counts the transactions that begin on a database handle. Call `done` to stop counting. */
function countTransactions({ db }: DatabaseHandle) {
  const { transaction } = db;
  let count = 0;
  db.transaction = () => {
    count += 1;
    return transaction.call(db);
  };
  return { executed: () => count, done: () => (db.transaction = transaction) };
}
