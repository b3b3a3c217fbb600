/** Endpoints change while deliveries wait. Waiting and later deliveries use the current settings. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { KyselyPlugin, QueryId } from 'kysely';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { WorkSignal } from '../../src/outbox/work-signal.js';
import { addEvents } from '../../src/outbox/outbox.js';
import { writeResults } from '../../src/webhooks/deliveries/rows/delivery-results.js';
import { healthOf } from '../../src/webhooks/deliveries/delivery-recorder.js';
import type { SigningKeys } from '../../src/webhooks/signing/webhook-signature.js';
import type { RunningDeliveries } from '../../src/webhooks/deliveries/start-deliveries.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { eventually } from '../support/processes.js';
import { signatureOf, startReceiver, type Receiver } from '../support/webhook-receiver.js';
import {
  DUE_LANES_STATEMENT,
  QUICK_TIMES,
  startWorker,
  TEST_SECRET,
  watchStatements,
  type WatchedDatabase,
} from '../support/webhook-worker.js';
import {
  addAccount,
  addEndpoint,
  attemptOf,
  deliveriesIn,
  serviceEvent,
  type EndpointOptions,
} from '../support/webhooks.js';

/** Calls `then` after each statement with which a worker reads endpoints, and waits for it. */
function onEndpointReads(then: () => unknown): KyselyPlugin {
  const reads = new WeakSet<QueryId>();
  return {
    transformQuery: ({ node, queryId }) => {
      if (JSON.stringify(node).includes('"failing_since"')) reads.add(queryId);
      return node;
    },
    transformResult: async ({ result, queryId }) => {
      if (reads.has(queryId)) await then();
      return result;
    },
  };
}

describeOnDatabases('the webhook worker', (kind) => {
  let database: DatabaseHandle;
  let receiver: Receiver;
  let signal: WorkSignal;
  let worker: RunningDeliveries | undefined;
  let openKeys: () => Promise<SigningKeys>;
  let laneClaims: WatchedDatabase;

  beforeEach(async () => {
    database = await testDatabase(kind);
    receiver = await startReceiver();
    signal = new WorkSignal();
    worker = undefined;
    laneClaims = watchStatements(database, DUE_LANES_STATEMENT);
    openKeys = async () => ({ secrets: [TEST_SECRET], privateKeys: [] });
    await addAccount(database.db, 'acc_1', Date.now());
  });
  afterEach(async () => {
    receiver.stop();
    await worker?.stop(1_000);
    await database.close();
  });

  const endpoint = (options: EndpointOptions = {}) =>
    addEndpoint(database.db, Date.now(), { url: receiver.url, ...options });

  async function start(on = laneClaims.database): Promise<void> {
    worker = await startWorker(on, signal, { openKeys: () => openKeys(), times: QUICK_TIMES });
  }

  async function emit(...names: string[]): Promise<void> {
    const { endpointIds } = await addEvents(
      database.db,
      names.map((name) => serviceEvent(name)),
      Date.now(),
    );
    signal.signalEndpoints(endpointIds);
  }

  const states = async () => (await deliveriesIn(database.db)).map(({ state }) => state);
  const arrived = (count: number) => eventually(`${count} deliveries arrive`, () => receiver.received.length >= count);
  const names = () => receiver.received.map(({ body }) => (JSON.parse(body) as { data: { name: string } }).data.name);
  const update = (id: string, values: EndpointOptions) =>
    database.db.updateTable('webhook_endpoint').set(values).where('id', '=', id).execute();

  it('does not deliver to a paused endpoint, and later delivers to its new address', async () => {
    const id = await endpoint({ status: 'paused', url: 'http://127.0.0.1:9/' });
    await start();
    await emit('ana', 'ben');
    await laneClaims.waitForStatements(5);
    expect(await states()).toEqual(['pending', 'pending']);
    await update(id, { status: 'enabled', url: receiver.url, version: 2 });
    signal.tellChanged([id]);
    await arrived(2);
    expect(names().toSorted()).toEqual(['ana', 'ben']);
  });

  it('starts no delivery to an endpoint that is paused during a delivery', async () => {
    const id = await endpoint({ concurrency: 1 });
    let release = (): void => {};
    receiver.respond((response) => (release = () => response.writeHead(204).end()));
    await start();
    await emit('ana', 'ben');
    await arrived(1);
    await update(id, { status: 'paused', version: 2 });
    signal.tellChanged([id]);
    await laneClaims.waitForStatements(5);
    release();
    await eventually('the first delivery has succeeded', async () => (await states()).includes('succeeded'));
    await laneClaims.waitForStatements(5);
    expect(receiver.received).toHaveLength(1);
  });

  it('uses the current address and secret for events after a change, even if it reads them late', async () => {
    const id = await endpoint();
    const moved = await startReceiver();
    try {
      // Reading endpoints takes longer than delivering an event.
      let lateMs = 0;
      const late = onEndpointReads(() => new Promise((resolve) => setTimeout(resolve, lateMs)));
      await start({ ...database, db: database.db.withPlugin(late) });
      await emit('ana');
      await arrived(1);
      lateMs = 200;
      const secret = Buffer.alloc(32, 9);
      openKeys = async () => ({ secrets: [secret], privateKeys: [] });
      await update(id, { url: moved.url, version: 2 });
      signal.tellChanged([id]);
      await emit('ben');
      await eventually('a delivery arrives at the new address', () => moved.received.length > 0);
      expect(receiver.received).toHaveLength(1);
      const got = moved.received[0]!;
      expect(got.headers['webhook-signature']).toBe(signatureOf(got, secret));
    } finally {
      moved.stop();
    }
  });

  it('delivers an event held by a new ordering setting after the one under way', async () => {
    const id = await endpoint();
    const held: (() => void)[] = [];
    receiver.respond((response) => held.push(() => response.writeHead(204).end()));
    await start();
    const about = async (name: string) => {
      const { endpointIds } = await addEvents(database.db, [serviceEvent(name, { resource: 'cus_1' })], Date.now());
      signal.signalEndpoints(endpointIds);
    };
    await about('1');
    await arrived(1);
    await update(id, { ordered: 1, version: 2 });
    signal.tellChanged([id]);
    await about('2');
    await eventually('a delivery is held', async () => (await states()).includes('held'));
    receiver.respond((response) => response.writeHead(204).end());
    for (const respond of held) respond();
    await eventually('both deliveries have succeeded', async () =>
      (await states()).every((state) => state === 'succeeded'),
    );
    expect(names()).toEqual(['1', '2']);
  });

  it('releases a held delivery even if the previous result ignores the ordering', async () => {
    const id = await endpoint({ ordered: 1 });
    const about = (name: string) => serviceEvent(name, { resource: 'cus_1' });
    await addEvents(database.db, [about('1'), about('2')], Date.now());
    const [first, second] = await deliveriesIn(database.db);
    await database.db.updateTable('webhook_delivery').set({ state: 'held' }).where('id', '=', second!.id).execute();
    const delivery = { id: first!.id, endpointId: id, resource: 'cus_1', attempts: 0, cycle: 0 };
    const records = [attemptOf(delivery, { state: 'succeeded' }, { isOrdered: false })];
    const { changed, released } = await writeResults(database.db, records, healthOf(records), Date.now());
    expect([[...changed], released]).toEqual([[first!.id], [id]]);
    expect(await states()).toEqual(['succeeded', 'pending']);
  });

  it('continues at the new address after a late 410 from the old one', async () => {
    const id = await endpoint({ retry_schedule: '[0.5]' });
    let respond = (): void => {};
    receiver.respond((response) => (respond = () => response.writeHead(410).end()));
    await start();
    await emit('ana');
    await arrived(1);
    await update(id, { url: `${receiver.url}/moved`, version: 2 });
    signal.tellChanged([id]);
    receiver.respond((response) => response.writeHead(204).end());
    // Gives the worker time to learn about the change.
    await laneClaims.waitForStatements(5);
    respond();
    await emit('ben');
    await arrived(2);
    await laneClaims.waitForStatements(10);
    const { status } = await database.db.selectFrom('webhook_endpoint').select('status').executeTakeFirstOrThrow();
    expect([status, receiver.received[1]?.path]).toEqual(['enabled', '/moved']);
    // The event that the old address rejected is delivered to the new one.
    await eventually('ana is delivered again', () => names().filter((name) => name === 'ana').length === 2);
    expect(receiver.received.at(-1)?.path).toBe('/moved');
  });

  it('does not read an endpoint again for each of its events', async () => {
    await endpoint();
    let reads = 0;
    await start({ ...database, db: database.db.withPlugin(onEndpointReads(() => (reads += 1))) });
    await emit('first');
    await arrived(1);
    const [startMs, before] = [performance.now(), reads];
    for (let count = 2; count <= 20; count++) {
      await emit(`e${count}`);
      await arrived(count);
    }
    // The worker also reads all endpoints periodically.
    expect(reads - before).toBeLessThanOrEqual(1 + (performance.now() - startMs) / 5_000);
  });
});
