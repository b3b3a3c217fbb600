/** Who has an endpoint in hand when a process ends, stands still, loses the database or a word: nothing waits for long, nothing goes out twice. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { KyselyPlugin } from 'kysely';
import type { DatabaseHandle } from '../../src/database/connect.js';
import { DatabaseUnavailable } from '../../src/database/database-errors.js';
import { WorkSignal } from '../../src/events/deliveries/work-signal.js';
import { addEvents } from '../../src/events/outbox.js';
import type { RunningWebhooks } from '../../src/webhooks/open-webhooks.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { eventually } from '../support/processes.js';
import { startReceiver, type Receiver } from '../support/webhook-receiver.js';
import { startWorker } from '../support/webhook-worker.js';
import { addAccount, addEndpoint, deliveriesIn, serviceEvent, type EndpointOptions } from '../support/webhooks.js';

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Statements that hold a text do not reach the database while `isAway()`. */
function failing(text: string, isAway: () => boolean): KyselyPlugin {
  return {
    transformQuery: ({ node }) => {
      if (isAway() && JSON.stringify(node).includes(text)) throw new DatabaseUnavailable('away');
      return node;
    },
    transformResult: async ({ result }) => result,
  };
}

describeOnDatabases('an endpoint', (kind) => {
  let database: DatabaseHandle;
  let receiver: Receiver;
  let signal: WorkSignal;
  let workers: RunningWebhooks[];

  beforeEach(async () => {
    database = await testDatabase(kind);
    receiver = await startReceiver();
    signal = new WorkSignal();
    workers = [];
    await addAccount(database.db, 'acc_1', Date.now());
  });
  afterEach(async () => {
    receiver.respond((response) => response.writeHead(204).end());
    await Promise.all(workers.map((worker) => worker.stop(1_000)));
    receiver.stop();
    await database.close();
  });

  const endpoint = (options: EndpointOptions = {}) =>
    addEndpoint(database.db, Date.now(), { url: receiver.url, ...options });

  async function start(on = database): Promise<RunningWebhooks> {
    const worker = await startWorker(on, signal);
    workers.push(worker);
    return worker;
  }

  async function happens(...names: string[]): Promise<void> {
    signal.tell(await added(...names));
  }

  async function added(...names: string[]): Promise<readonly string[]> {
    const events = names.map((name) => serviceEvent(name));
    return (await addEvents(database.db, events, Date.now())).endpointIds;
  }

  const arrived = (count: number, withinMs?: number) =>
    eventually(`${count} arrive`, () => receiver.received.length >= count, withinMs);
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
      first.rest();
      await happens('cleo');
      await arrived(3, 3_000);
      // What is under way stays its owner's: nobody sends it a second time.
      await sleep(1_500);
      expect(hanging.received).toHaveLength(1);
      expect(names()).toEqual(['ana', 'ben', 'cleo']);
    } finally {
      hanging.stop();
    }
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
    await database.db.updateTable('webhook_lane').set({ owned_until: 0 }).execute();
    await sleep(2_500);
    expect(names()).toEqual(['ana']);
  });

  it('is sent nothing twice either where its owner cannot read it when it takes it again', async () => {
    await endpoint({ concurrency: 1 });
    receiver.respond(() => {});
    let isAway = false;
    await start({ ...database, db: database.db.withPlugin(failing('"failing_since"', () => isAway)) });
    await happens('ana', 'ben');
    await arrived(1);
    isAway = true;
    await database.db.updateTable('webhook_lane').set({ owned_until: 0 }).execute();
    await sleep(1_500);
    isAway = false;
    await sleep(1_500);
    expect(names()).toEqual(['ana']);
  });

  it('that others had meanwhile is not sent what they have sent', async () => {
    await endpoint({ concurrency: 1 });
    let respond = (): void => {};
    receiver.respond((response) => (respond = () => response.writeHead(204).end()));
    await start();
    await happens('ana', 'ben', 'cleo');
    await arrived(1);
    await eventually('the others are read', async () => (await deliveriesIn(database.db)).length === 3);
    await sleep(300);
    const [, ben] = await deliveriesIn(database.db);
    await database.db.updateTable('webhook_delivery').set({ state: 'succeeded' }).where('id', '=', ben!.id).execute();
    await database.db.updateTable('webhook_lane').set({ owned_until: 0 }).execute();
    await sleep(1_800);
    receiver.respond((response) => response.writeHead(204).end());
    respond();
    await arrived(2);
    await sleep(500);
    expect(names()).toEqual(['ana', 'cleo']);
  });

  it('is in the hands of whom the table says, also when it is let go of and taken at the same moment', async () => {
    await endpoint();
    let isAway = false;
    let isLate = false;
    const late: KyselyPlugin = {
      transformQuery: ({ node }) => node,
      transformResult: async ({ result }) => {
        const isOfEndpoints = isLate && result.rows.some((row) => 'failing_since' in row);
        if (isOfEndpoints) await sleep(700);
        return result;
      },
    };
    const away = failing('owned_until = 0, due_at = case', () => isAway);
    const db = database.db.withPlugin(away).withPlugin(late);
    await start({ ...database, db });
    await happens('ana');
    await arrived(1);
    isAway = true;
    await sleep(11_000);
    // Its lease is over, and due as it was: it is taken, and was to be let go of.
    await database.db.updateTable('webhook_lane').set({ owned_until: 0 }).execute();
    isLate = true;
    isAway = false;
    await sleep(1_500);
    const other = await start();
    await happens('ben');
    await arrived(2, 3_000);
    await sleep(500);
    expect(names()).toEqual(['ana', 'ben']);
    other.rest();
  }, 40_000);

  it('whose owner could not let go of it is told all the same', async () => {
    await endpoint();
    let isAway = false;
    const away = failing('owned_until = 0, due_at = case', () => isAway);
    await start({ ...database, db: database.db.withPlugin(away) });
    await happens('ana');
    await arrived(1);
    // Behind the time for which an owner keeps what has no work.
    isAway = true;
    await sleep(11_000);
    isAway = false;
    await happens('ben');
    await arrived(2, 3_000);
  }, 30_000);

  it('that could not be read when it was taken is told all the same', async () => {
    await endpoint();
    let isAway = true;
    await start({ ...database, db: database.db.withPlugin(failing('"failing_since"', () => isAway)) });
    await happens('ana');
    await eventually('it is taken', async () => (await owners())[0] !== null);
    isAway = false;
    await arrived(1, 3_000);
  });

  it('is told within two seconds of what nobody said, also while it takes its time with something else', async () => {
    await endpoint();
    await start();
    await happens('ana');
    await arrived(1);
    receiver.respond(() => {});
    await happens('ben');
    await arrived(2);
    receiver.respond((response) => response.writeHead(204).end());
    await added('lost');
    await arrived(3, 2_500);
    expect(names()).toEqual(['ana', 'ben', 'lost']);
  });

  it('that asks for time has it, also when its owner has nothing else to do meanwhile', async () => {
    await endpoint();
    receiver.respond((response) => response.writeHead(429, { 'retry-after': '16' }).end());
    await start();
    await happens('ana');
    await arrived(1);
    const askedMs = performance.now();
    receiver.respond((response) => response.writeHead(204).end());
    await sleep(12_500);
    await happens('ben');
    await arrived(2);
    expect(performance.now() - askedMs).toBeGreaterThan(15_500);
  }, 60_000);
});
