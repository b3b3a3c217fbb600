/**
 * Ownership of endpoints when a process ends, stands still, or loses the database or a message: nothing waits long,
 * nothing is sent twice.
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
import { LOOK, QUICK_TIMES, startWorker, watchStatements, type WatchedDatabase } from '../support/webhook-worker.js';
import { addAccount, addEndpoint, deliveriesIn, serviceEvent, type EndpointOptions } from '../support/webhooks.js';

/** The statements with which a worker reads endpoints that it has taken, and lets go of lanes. */
const READ = '"failing_since"';
const LET_GO = 'owned_until = 0, due_at = case';

describeOnDatabases('an endpoint', (kind) => {
  let database: DatabaseHandle;
  let receiver: Receiver;
  let signal: WorkSignal;
  let workers: RunningDeliveries[];
  let looks: WatchedDatabase;

  beforeEach(async () => {
    database = await testDatabase(kind);
    receiver = await startReceiver();
    signal = new WorkSignal();
    workers = [];
    looks = watchStatements(database, LOOK);
    await addAccount(database.db, 'acc_1', Date.now());
  });
  afterEach(async () => {
    receiver.stop();
    await Promise.all(workers.map((worker) => worker.stop(1_000)));
    await database.close();
  });

  const endpoint = (options: EndpointOptions = {}) =>
    addEndpoint(database.db, Date.now(), { url: receiver.url, ...options });

  async function start(on = looks.database, times = QUICK_TIMES): Promise<RunningDeliveries> {
    const worker = await startWorker(on, signal, { times });
    workers.push(worker);
    return worker;
  }

  /** Starts one whose statements with a text do not reach the database while `isAway`. */
  async function startFailing(text: string, isAway: () => boolean, times = QUICK_TIMES): Promise<WatchedDatabase> {
    const watched = watchStatements(looks.database, text, () => {
      if (isAway()) throw new DatabaseUnavailable('away');
    });
    await start(watched.database, times);
    return watched;
  }

  /** Ends the leases, and waits until a worker has a lane again. */
  async function leasesEnd(): Promise<void> {
    await database.db.updateTable('webhook_lane').set({ owned_until: 0 }).execute();
    await isOwned();
  }

  const isOwned = () =>
    eventually('it is taken', async () => {
      const lanes = await database.db.selectFrom('webhook_lane').select('owned_until').execute();
      return lanes.every((lane) => lane.owned_until > 0);
    });

  async function happens(...names: string[]): Promise<void> {
    signal.tell(await added(...names));
  }

  async function added(...names: string[]): Promise<readonly string[]> {
    const events = names.map((name) => serviceEvent(name));
    return (await addEvents(database.db, events, Date.now())).endpointIds;
  }

  const arrived = (count: number) => eventually(`${count} arrive`, () => receiver.received.length >= count);
  const names = () => receiver.received.map(({ body }) => (JSON.parse(body) as { data: { name: string } }).data.name);
  const owners = async () =>
    (await database.db.selectFrom('webhook_lane').select('owner').orderBy('endpoint_id').execute()).map(
      ({ owner }) => owner,
    );

  it("is another process's as soon as its own begins to end, and has nothing under way there", async () => {
    await endpoint();
    const hanging = await startReceiver();
    try {
      hanging.respond(() => {});
      const first = await start();
      await happens('ana');
      await arrived(1);
      await endpoint({ url: hanging.url });
      await happens('ben');
      await eventually('one hangs', () => hanging.received.length === 1);
      await start();
      first.stopStarting();
      await happens('cleo');
      await arrived(3);
      // What is under way stays its owner's: nobody sends it a second time.
      await looks.came(5);
      expect(hanging.received).toHaveLength(1);
      expect(names()).toEqual(['ana', 'ben', 'cleo']);
    } finally {
      hanging.stop();
    }
  });

  it('of a process that was killed is taken by one that runs already, long before the lease is over', async () => {
    await endpoint();
    await start(looks.database, { ...QUICK_TIMES, scanMs: 100, scanSpreadMs: 20 });
    const dead = ownerName(processNamespace(), spawnSync('true').pid);
    await database.db
      .updateTable('webhook_lane')
      .set({ owner: dead, owned_until: Date.now() + LEASE_MS })
      .execute();
    await added('ana');
    await eventually('it is taken', async () => (await owners())[0] !== dead);
    await arrived(1);
    expect(WORKER_TIMES.scanMs + WORKER_TIMES.scanSpreadMs).toBeLessThan(LEASE_MS / 2);
  });

  it('whose attempt outlives the end of its process keeps others waiting for no other', async () => {
    const hanging = await startReceiver();
    try {
      hanging.respond(() => {});
      await endpoint({ url: hanging.url });
      await endpoint();
      const worker = await start();
      await happens('ana');
      await arrived(1);
      await eventually('one hangs', () => hanging.received.length === 1);
      await worker.stop(100);
      expect((await owners()).filter((owner) => owner === null)).toHaveLength(1);
    } finally {
      hanging.stop();
    }
  });

  it('is sent nothing twice by a process that finds its own lease over', async () => {
    await endpoint({ concurrency: 1 });
    receiver.respond(() => {});
    await start();
    await happens('ana', 'ben');
    await arrived(1);
    await leasesEnd();
    await looks.came(5);
    expect(names()).toEqual(['ana']);
  });

  it('is sent nothing twice either where its owner cannot read it when it takes it again', async () => {
    await endpoint({ concurrency: 1 });
    receiver.respond(() => {});
    let isAway = false;
    const reads = await startFailing(READ, () => isAway);
    await happens('ana', 'ben');
    await arrived(1);
    isAway = true;
    const isRead = reads.came(1);
    await leasesEnd();
    await isRead;
    isAway = false;
    await looks.came(10);
    expect(names()).toEqual(['ana']);
  });

  it('that others had meanwhile is not sent what they have sent', async () => {
    await endpoint({ concurrency: 1 });
    let respond = (): void => {};
    receiver.respond((response) => (respond = () => response.writeHead(204).end()));
    await start();
    await happens('ana', 'ben', 'cleo');
    await arrived(1);
    // All three were read together.
    const [, ben] = await deliveriesIn(database.db);
    await database.db.updateTable('webhook_delivery').set({ state: 'succeeded' }).where('id', '=', ben!.id).execute();
    await leasesEnd();
    await looks.came(5);
    receiver.respond((response) => response.writeHead(204).end());
    respond();
    await arrived(2);
    await looks.came(5);
    expect(names()).toEqual(['ana', 'cleo']);
  });

  it('is in the hands of whom the table says, also when it is let go of and taken at the same moment', async () => {
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
    looks = watchStatements({ ...database, db: database.db.withPlugin(late) }, LOOK);
    // Long enough that another worker starts before it would be let go of once more.
    const times = { ...QUICK_TIMES, lingerMs: 1_000 };
    const lettingGo = await startFailing(LET_GO, () => isAway, times);
    await happens('ana');
    await arrived(1);
    isAway = true;
    await lettingGo.came(2);
    // Its lease is over, and due as it was: it is taken, and was to be let go of.
    isLate = true;
    await leasesEnd();
    isAway = false;
    await eventually('it is read, late', () => lateReads > 0);
    const other = await start();
    // Under way for long enough that another owner would send it, too.
    receiver.respond(() => {});
    await happens('ben');
    await arrived(2);
    await looks.came(5);
    expect(names()).toEqual(['ana', 'ben']);
    other.stopStarting();
  });

  it('whose owner could not let go of it is told all the same', async () => {
    await endpoint();
    let isAway = false;
    const lettingGo = await startFailing(LET_GO, () => isAway);
    await happens('ana');
    await arrived(1);
    isAway = true;
    await lettingGo.came(2);
    isAway = false;
    await happens('ben');
    await arrived(2);
  });

  it('that could not be read when it was taken is told all the same', async () => {
    await endpoint();
    let isAway = true;
    await startFailing(READ, () => isAway);
    await happens('ana');
    await eventually('it is taken', async () => (await owners())[0] !== null);
    isAway = false;
    await arrived(1);
  });

  it('is told of what nobody said, also while it takes its time with something else', async () => {
    await endpoint();
    await start();
    await happens('ana');
    await arrived(1);
    receiver.respond(() => {});
    await happens('ben');
    await arrived(2);
    receiver.respond((response) => response.writeHead(204).end());
    await added('lost');
    await arrived(3);
    expect(names()).toEqual(['ana', 'ben', 'lost']);
  });

  it('that asks for time has it, also when its owner has nothing else to do meanwhile', async () => {
    await endpoint();
    receiver.respond((response) => response.writeHead(429, { 'retry-after': '1' }).end());
    await start();
    await happens('ana');
    await arrived(1);
    const askedMs = performance.now();
    receiver.respond((response) => response.writeHead(204).end());
    // Longer than an owner keeps what has no work.
    await looks.came((2 * QUICK_TIMES.lingerMs) / QUICK_TIMES.claimMs);
    await happens('ben');
    await arrived(2);
    expect(performance.now() - askedMs).toBeGreaterThan(900);
  });
});
