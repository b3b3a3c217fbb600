/** The webhook worker delivers events as each endpoint is configured, and continues where another worker ended. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { QueryResult, RootOperationNode, UnknownRow } from 'kysely';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { ASLEEP } from '../../src/outbox/lane-rows.js';
import { WorkSignal } from '../../src/outbox/work-signal.js';
import type { ForeignEvent } from '../../src/outbox/event-types.js';
import { addEvents } from '../../src/outbox/outbox.js';
import type { SigningKeys } from '../../src/webhooks/signing/webhook-signature.js';
import type { RunningDeliveries } from '../../src/webhooks/deliveries/start-deliveries.js';
import { WORKER_TIMES } from '../../src/webhooks/deliveries/worker-times.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { eventually } from '../support/processes.js';
import {
  DUE_LANES_STATEMENT,
  QUICK_TIMES,
  startWorker,
  TEST_SECRET,
  watchStatements,
  type WatchedDatabase,
} from '../support/webhook-worker.js';
import { signatureOf, startReceiver, type Receiver } from '../support/webhook-receiver.js';
import { addAccount, addEndpoint, deliveriesIn, serviceEvent, type EndpointOptions } from '../support/webhooks.js';

describeOnDatabases('the webhook worker', (kind) => {
  let database: DatabaseHandle;
  let receiver: Receiver;
  let signal: WorkSignal;
  let workers: RunningDeliveries[];
  let openKeys: () => Promise<SigningKeys>;
  let laneClaims: WatchedDatabase;

  beforeEach(async () => {
    database = await testDatabase(kind);
    receiver = await startReceiver();
    signal = new WorkSignal();
    workers = [];
    laneClaims = watchStatements(database, DUE_LANES_STATEMENT);
    openKeys = async () => ({ secrets: [TEST_SECRET], privateKeys: [] });
    await addAccount(database.db, 'acc_1', Date.now());
  });
  afterEach(async () => {
    receiver.stop();
    await Promise.all(workers.map((worker) => worker.stop(1_000)));
    await database.close();
  });

  const endpoint = (options: EndpointOptions = {}) =>
    addEndpoint(database.db, Date.now(), { url: receiver.url, ...options });

  async function start(): Promise<RunningDeliveries> {
    const worker = await startWorker(laneClaims.database, signal, { openKeys, times: QUICK_TIMES });
    workers.push(worker);
    return worker;
  }

  async function emit(...names: string[]): Promise<void> {
    await emitEvents(names.map((name) => serviceEvent(name)));
  }

  async function emitEvents(events: readonly ForeignEvent[]): Promise<void> {
    const { endpointIds } = await addEvents(database.db, events, Date.now());
    signal.signalEndpoints(endpointIds);
  }

  const states = async () => (await deliveriesIn(database.db)).map(({ state }) => state);
  const arrived = (count: number) => eventually(`${count} deliveries arrive`, () => receiver.received.length >= count);
  const names = () => receiver.received.map(({ body }) => (JSON.parse(body) as { data: { name: string } }).data.name);

  it('delivers a signed event at once, records the attempt, and releases the lane', async () => {
    const id = await endpoint();
    await start();
    await emit('ana');
    await arrived(1);
    const [got] = receiver.received;
    if (got === undefined) throw new Error('nothing arrived');
    const [delivery] = await deliveriesIn(database.db);
    expect(JSON.parse(got.body)).toEqual({
      id: delivery?.event_id,
      type: 'customer.created',
      timestamp: new Date(1_795_000_000_000).toISOString(),
      account_id: 'acc_1',
      data: { name: 'ana' },
    });
    expect(got.headers['webhook-signature']).toBe(signatureOf(got, TEST_SECRET));
    await eventually('the delivery is recorded as succeeded', async () => (await states())[0] === 'succeeded');
    const [attempt] = await database.db.selectFrom('webhook_attempt').selectAll().execute();
    expect(attempt).toMatchObject({ delivery_id: delivery?.id, number: 1, status_code: 204, error: null });
    await eventually('the lane is released', async () => {
      const lane = await database.db.selectFrom('webhook_lane').selectAll().executeTakeFirstOrThrow();
      return lane.owner === null && lane.due_at === ASLEEP;
    });
    expect(await database.db.selectFrom('webhook_endpoint').selectAll().executeTakeFirst()).toMatchObject({
      id,
      failing_since: null,
      last_success_at: attempt?.at,
    });
  });

  it('delivers an event without a notification', async () => {
    await endpoint();
    await start();
    await addEvents(database.db, [serviceEvent('ana')], Date.now());
    await arrived(1);
  });

  it('retries by the schedule of the endpoint, and gives up after it', async () => {
    await endpoint({ retry_schedule: '[0.3]' });
    receiver.respond((response) => response.writeHead(500).end('no'));
    await start();
    await emit('ana');
    await eventually('the delivery has failed', async () => (await states())[0] === 'failed');
    expect(receiver.received).toHaveLength(2);
    const [one, other] = receiver.received;
    expect((other?.atMs ?? 0) - (one?.atMs ?? 0)).toBeGreaterThan(250);
    expect(one?.body).toBe(other?.body);
    expect(await deliveriesIn(database.db)).toMatchObject([{ reason: 'exhausted', attempts: 2 }]);
    const [row] = await database.db.selectFrom('webhook_endpoint').selectAll().execute();
    expect(row).toMatchObject({ failures: 2, last_success_at: null });
  });

  it('ends a delivery when its receiver sends abort-message', async () => {
    await endpoint();
    receiver.respond((response) => response.writeHead(400, { 'webhook-delivery': 'abort-message' }).end());
    await start();
    await emit('ana');
    await eventually('the delivery has failed', async () => (await states())[0] === 'failed');
    expect(await deliveriesIn(database.db)).toMatchObject([{ reason: 'aborted' }]);
  });

  it('delivers events of one resource in order, even after a failure, and others meanwhile', async () => {
    await endpoint({ ordered: 1, retry_schedule: '[0.1,0.1]' });
    let hasFailed = false;
    receiver.respond((response, { body }) => {
      const isFirst = body.includes('"1"') && !hasFailed;
      if (isFirst) hasFailed = true;
      response.writeHead(isFirst ? 500 : 204).end();
    });
    await start();
    const about = (name: string, resource: string) => serviceEvent(name, { resource });
    await emitEvents([about('1', 'cus_1'), about('2', 'cus_1'), about('3', 'cus_1'), about('x', 'cus_2')]);
    await eventually('all deliveries have succeeded', async () =>
      (await states()).every((state) => state === 'succeeded'),
    );
    expect(names().filter((name) => name !== 'x')).toEqual(['1', '1', '2', '3']);
    expect(names().indexOf('x')).toBeLessThan(3);
  });

  it('sends nothing twice when two workers run', async () => {
    for (let count = 0; count < 5; count++) await endpoint();
    await Promise.all([start(), start()]);
    await emit(...Array.from({ length: 20 }, (_, at) => `e${at}`));
    await eventually('all deliveries have succeeded', async () =>
      (await states()).every((state) => state === 'succeeded'),
    );
    expect(receiver.received).toHaveLength(100);
  });

  it('finds events without a notification at its own endpoint, even ones due later', async () => {
    await endpoint();
    await start();
    await emit('told');
    await arrived(1);
    for (const [name, inMs] of [
      ['lost', 0],
      ['later', 300],
    ] as const) {
      const count = receiver.received.length;
      const { events } = await addEvents(database.db, [serviceEvent(name)], Date.now() + inMs);
      expect(events.size).toBe(1);
      await eventually(`${name} arrives`, () => receiver.received.length > count);
    }
    // The worker claims every second, so it finds such events within two seconds.
    expect(WORKER_TIMES.claimMs).toBeLessThanOrEqual(1_000);
    expect(names()).toEqual(['told', 'lost', 'later']);
  });

  it('takes over the lanes of a dead worker when its leases have ended', async () => {
    const id = await endpoint();
    await addEvents(database.db, [serviceEvent('ana')], Date.now());
    const soon = Date.now() + 500;
    await database.db.updateTable('webhook_lane').set({ owner: 'dead', owned_until: soon }).execute();
    await start();
    signal.signalEndpoints([id]);
    await arrived(1);
    expect(Date.now()).toBeGreaterThanOrEqual(soon);
  });

  it('sends nothing when the signing keys cannot be opened, and keeps the delivery', async () => {
    await endpoint();
    openKeys = async () => {
      throw new Error('another key');
    };
    await start();
    await emit('ana');
    await laneClaims.waitForStatements(10);
    expect(receiver.received).toEqual([]);
    expect(await deliveriesIn(database.db)).toMatchObject([{ state: 'pending', attempts: 0 }]);
  });

  it('expires a delivery whose event was deleted', async () => {
    await endpoint();
    await addEvents(database.db, [serviceEvent('ana'), serviceEvent('ben')], Date.now());
    const { event_id: eventId } = (await deliveriesIn(database.db))[0]!;
    await database.db.deleteFrom('event').where('id', '=', eventId).execute();
    await start();
    await eventually('no delivery is pending', async () => !(await states()).includes('pending'));
    expect(await deliveriesIn(database.db)).toMatchObject([
      { state: 'failed', reason: 'expired' },
      { state: 'succeeded' },
    ]);
  });

  it('delivers to other endpoints while one hangs', async () => {
    await endpoint();
    const hanging = await startReceiver();
    try {
      hanging.respond(() => {});
      await endpoint({ url: hanging.url });
      await start();
      await emit(...Array.from({ length: 30 }, (_, at) => `e${at}`));
      await arrived(30);
      expect(hanging.received.length).toBeLessThan(4);
    } finally {
      hanging.stop();
    }
  });

  it('sends fewer than 150 statements for deliveries to 300 endpoints', async () => {
    const many = 300;
    for (let count = 0; count < many; count++) await endpoint({ timeout_ms: 30_000, last_success_at: 1 });
    let asked = 0;
    const counting = {
      transformQuery: ({ node }: { node: RootOperationNode }) => ((asked += 1), node),
      transformResult: async ({ result }: { result: QueryResult<UnknownRow> }) => result,
    };
    // Lets all endpoints respond together. Otherwise, the size of result batches would depend on the machine.
    const held: (() => void)[] = [];
    receiver.respond((response) => held.push(() => response.writeHead(204).end()));
    workers.push(await startWorker({ ...database, db: database.db.withPlugin(counting) }, signal, { openKeys }));
    await emit('ana');
    await arrived(many);
    receiver.respond((response) => response.writeHead(204).end());
    for (const release of held) release();
    await eventually('all deliveries are recorded as succeeded', async () =>
      (await states()).every((state) => state === 'succeeded'),
    );
    // Claims, pages and payloads come in batches of 64, results in batches of at least 64, and the worker polls
    // meanwhile.
    expect(asked).toBeLessThan(many / 2);
  });

  it('limits the bodies of concurrent deliveries to 32 MiB, and sends the rest later', async () => {
    const bodyBytes = 256 * 1_024;
    // Quick attempts get 24 MiB of bodies and slow ones 8 MiB. With the envelope of each body, one fewer fits into each.
    const fitting = (24 * 1_024 * 1_024) / bodyBytes - 1 + ((8 * 1_024 * 1_024) / bodyBytes - 1);
    for (let count = 0; count < fitting + 10; count++) await endpoint({ timeout_ms: 30_000, last_success_at: 1 });
    const held: (() => void)[] = [];
    receiver.respond((response) => held.push(() => response.writeHead(204).end()));
    await start();
    await emitEvents([serviceEvent('large', { dataText: JSON.stringify({ name: 'x'.repeat(bodyBytes - 11) }) })]);
    await arrived(fitting);
    await laneClaims.waitForStatements(10);
    expect(receiver.received).toHaveLength(fitting);
    receiver.respond((response) => response.writeHead(204).end());
    for (const release of held) release();
    await eventually('all deliveries have succeeded', async () =>
      (await states()).every((state) => state === 'succeeded'),
    );
  });

  it('finishes its deliveries when it stops, starts no others, and releases its lanes at once', async () => {
    await endpoint({ concurrency: 1 });
    receiver.respond((response) => setTimeout(() => response.writeHead(204).end(), 300));
    const worker = await start();
    await emit('ana', 'ben');
    await arrived(1);
    await worker.stop(5_000);
    expect((await states()).toSorted()).toEqual(['pending', 'succeeded']);
    expect(await database.db.selectFrom('webhook_lane').select('owner').execute()).toEqual([{ owner: null }]);
    await start();
    await arrived(2);
    expect(new Set(names()).size).toBe(2);
  });
});
