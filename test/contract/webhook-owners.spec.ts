/**
 * Ownership of endpoints when a process ends or hangs, or loses the database or a message. No delivery waits long or is
 * sent twice.
 */
import { spawnSync } from 'node:child_process';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { KyselyPlugin } from 'kysely';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { DatabaseUnavailable } from '../../src/stores/database/database-errors.js';
import { LEASE_MS } from '../../src/webhooks/deliveries/rows/lanes.js';
import { WorkSignal } from '../../src/outbox/work-signal.js';
import { addEvents } from '../../src/outbox/outbox.js';
import { ownerName, processNamespace } from '../../src/webhooks/deliveries/lane-owner.js';
import type { RunningDeliveries } from '../../src/webhooks/deliveries/start-deliveries.js';
import { WORKER_TIMES } from '../../src/webhooks/deliveries/worker-times.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { eventually } from '../support/processes.js';
import { startReceiver, type Receiver } from '../support/webhook-receiver.js';
import {
  DUE_LANES_STATEMENT,
  QUICK_TIMES,
  startWorker,
  watchStatements,
  type WatchedDatabase,
} from '../support/webhook-worker.js';
import { addAccount, addEndpoint, deliveriesIn, serviceEvent, type EndpointOptions } from '../support/webhooks.js';

/** Parts of the statements with which a worker reads claimed endpoints and releases lanes. */
const READ = '"failing_since"';
const LET_GO = 'owned_until = 0, due_at = case';

describeOnDatabases('a webhook endpoint', (kind) => {
  let database: DatabaseHandle;
  let receiver: Receiver;
  let signal: WorkSignal;
  let workers: RunningDeliveries[];
  let laneClaims: WatchedDatabase;

  beforeEach(async () => {
    database = await testDatabase(kind);
    receiver = await startReceiver();
    signal = new WorkSignal();
    workers = [];
    laneClaims = watchStatements(database, DUE_LANES_STATEMENT);
    await addAccount(database.db, 'acc_1', Date.now());
  });
  afterEach(async () => {
    receiver.stop();
    await Promise.all(workers.map((worker) => worker.stop(1_000)));
    await database.close();
  });

  const endpoint = (options: EndpointOptions = {}) =>
    addEndpoint(database.db, Date.now(), { url: receiver.url, ...options });

  async function start(on = laneClaims.database, times = QUICK_TIMES): Promise<RunningDeliveries> {
    const worker = await startWorker(on, signal, { times });
    workers.push(worker);
    return worker;
  }

  /** Starts a worker whose statements with this text fail while `isAway` returns true. */
  async function startFailing(text: string, isAway: () => boolean, times = QUICK_TIMES): Promise<WatchedDatabase> {
    const watched = watchStatements(laneClaims.database, text, () => {
      if (isAway()) throw new DatabaseUnavailable('away');
    });
    await start(watched.database, times);
    return watched;
  }

  /** Ends the leases, and waits until a worker owns a lane again. */
  async function leasesEnd(): Promise<void> {
    await database.db.updateTable('webhook_lane').set({ owned_until: 0 }).execute();
    await isOwned();
  }

  const isOwned = () =>
    eventually('a worker owns the lane', async () => {
      const lanes = await database.db.selectFrom('webhook_lane').select('owned_until').execute();
      return lanes.every((lane) => lane.owned_until > 0);
    });

  async function emit(...names: string[]): Promise<void> {
    signal.signalEndpoints(await added(...names));
  }

  async function added(...names: string[]): Promise<readonly string[]> {
    const events = names.map((name) => serviceEvent(name));
    return (await addEvents(database.db, events, Date.now())).endpointIds;
  }

  const arrived = (count: number) => eventually(`${count} deliveries arrive`, () => receiver.received.length >= count);
  const names = () => receiver.received.map(({ body }) => (JSON.parse(body) as { data: { name: string } }).data.name);
  const owners = async () =>
    (await database.db.selectFrom('webhook_lane').select('owner').orderBy('endpoint_id').execute()).map(
      ({ owner }) => owner,
    );

  it('moves to another process when its owner begins to stop, without a second delivery', async () => {
    await endpoint();
    const hanging = await startReceiver();
    try {
      hanging.respond(() => {});
      const first = await start();
      await emit('ana');
      await arrived(1);
      await endpoint({ url: hanging.url });
      await emit('ben');
      await eventually('a delivery hangs', () => hanging.received.length === 1);
      await start();
      first.stopStarting();
      await emit('cleo');
      await arrived(3);
      // The running delivery stays with its owner. No other process sends it.
      await laneClaims.waitForStatements(5);
      expect(hanging.received).toHaveLength(1);
      expect(names()).toEqual(['ana', 'ben', 'cleo']);
    } finally {
      hanging.stop();
    }
  });

  it('of a killed process is taken over by a running one before its lease ends', async () => {
    await endpoint();
    await start(laneClaims.database, { ...QUICK_TIMES, scanMs: 100, scanSpreadMs: 20 });
    const dead = ownerName(processNamespace(), spawnSync('true').pid);
    await database.db
      .updateTable('webhook_lane')
      .set({ owner: dead, owned_until: Date.now() + LEASE_MS })
      .execute();
    await added('ana');
    await eventually('another worker owns the lane', async () => (await owners())[0] !== dead);
    await arrived(1);
    expect(WORKER_TIMES.scanMs + WORKER_TIMES.scanSpreadMs).toBeLessThan(LEASE_MS / 2);
  });

  it('with an attempt that outlives its process does not keep other endpoints owned', async () => {
    const hanging = await startReceiver();
    try {
      hanging.respond(() => {});
      await endpoint({ url: hanging.url });
      await endpoint();
      const worker = await start();
      await emit('ana');
      await arrived(1);
      await eventually('a delivery hangs', () => hanging.received.length === 1);
      await worker.stop(100);
      expect((await owners()).filter((owner) => owner === null)).toHaveLength(1);
    } finally {
      hanging.stop();
    }
  });

  it('gets nothing twice from a process whose lease has ended', async () => {
    await endpoint({ concurrency: 1 });
    receiver.respond(() => {});
    await start();
    await emit('ana', 'ben');
    await arrived(1);
    await leasesEnd();
    await laneClaims.waitForStatements(5);
    expect(names()).toEqual(['ana']);
  });

  it('gets nothing twice when its owner cannot read it while taking it again', async () => {
    await endpoint({ concurrency: 1 });
    receiver.respond(() => {});
    let isAway = false;
    const reads = await startFailing(READ, () => isAway);
    await emit('ana', 'ben');
    await arrived(1);
    isAway = true;
    const isRead = reads.waitForStatements(1);
    await leasesEnd();
    await isRead;
    isAway = false;
    await laneClaims.waitForStatements(10);
    expect(names()).toEqual(['ana']);
  });

  it('that was taken over meanwhile does not get deliveries that others have made', async () => {
    await endpoint({ concurrency: 1 });
    let respond = (): void => {};
    receiver.respond((response) => (respond = () => response.writeHead(204).end()));
    await start();
    await emit('ana', 'ben', 'cleo');
    await arrived(1);
    // The worker has read all three deliveries together.
    const [, ben] = await deliveriesIn(database.db);
    await database.db.updateTable('webhook_delivery').set({ state: 'succeeded' }).where('id', '=', ben!.id).execute();
    await leasesEnd();
    await laneClaims.waitForStatements(5);
    receiver.respond((response) => response.writeHead(204).end());
    respond();
    await arrived(2);
    await laneClaims.waitForStatements(5);
    expect(names()).toEqual(['ana', 'cleo']);
  });

  it('has one owner even when it is released and claimed at the same moment', async () => {
    await endpoint();
    let isAway = false;
    let isLate = false;
    let lateReads = 0;
    const late: KyselyPlugin = {
      transformQuery: ({ node }) => node,
      transformResult: async ({ result }) => {
        if (isLate && result.rows.some((row) => 'failing_since' in row)) {
          await new Promise((resolve) => setTimeout(resolve, 5 * QUICK_TIMES.releaseMs));
          lateReads += 1;
        }
        return result;
      },
    };
    laneClaims = watchStatements({ ...database, db: database.db.withPlugin(late) }, DUE_LANES_STATEMENT);
    // Keeps the endpoint long enough for another worker to start before the next release.
    const times = { ...QUICK_TIMES, lingerMs: 1_000 };
    const lettingGo = await startFailing(LET_GO, () => isAway, times);
    await emit('ana');
    await arrived(1);
    isAway = true;
    await lettingGo.waitForStatements(2);
    // Its lease ends while a release is pending. The endpoint is still due, so the worker claims it again.
    isLate = true;
    await leasesEnd();
    isAway = false;
    await eventually('the delayed read ends', () => lateReads > 0);
    const other = await start();
    // Keeps the delivery running long enough for another owner to send it, too.
    receiver.respond(() => {});
    await emit('ben');
    await arrived(2);
    await laneClaims.waitForStatements(5);
    expect(names()).toEqual(['ana', 'ben']);
    other.stopStarting();
  });

  it('still gets events after its owner could not release it', async () => {
    await endpoint();
    let isAway = false;
    const lettingGo = await startFailing(LET_GO, () => isAway);
    await emit('ana');
    await arrived(1);
    isAway = true;
    await lettingGo.waitForStatements(2);
    isAway = false;
    await emit('ben');
    await arrived(2);
  });

  it('still gets events after its owner could not read it when claiming it', async () => {
    await endpoint();
    let isAway = true;
    await startFailing(READ, () => isAway);
    await emit('ana');
    await eventually('a worker owns the lane', async () => (await owners())[0] !== null);
    isAway = false;
    await arrived(1);
  });

  it('gets an event without a notification, even while another delivery hangs', async () => {
    await endpoint();
    await start();
    await emit('ana');
    await arrived(1);
    receiver.respond(() => {});
    await emit('ben');
    await arrived(2);
    receiver.respond((response) => response.writeHead(204).end());
    await added('lost');
    await arrived(3);
    expect(names()).toEqual(['ana', 'ben', 'lost']);
  });

  it('that sends Retry-After gets no event before that, even when its owner is idle meanwhile', async () => {
    await endpoint();
    receiver.respond((response) => response.writeHead(429, { 'retry-after': '1' }).end());
    await start();
    await emit('ana');
    await arrived(1);
    const askedMs = performance.now();
    receiver.respond((response) => response.writeHead(204).end());
    // Waits longer than an owner keeps an idle lane.
    await laneClaims.waitForStatements((2 * QUICK_TIMES.lingerMs) / QUICK_TIMES.claimMs);
    await emit('ben');
    await arrived(2);
    expect(performance.now() - askedMs).toBeGreaterThan(900);
  });
});
