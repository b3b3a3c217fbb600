/**
 * Property test of webhook endpoints with changing owners and leases. No delivery is lost, the rows match a simple
 * model, and ordered endpoints keep their order. Many endpoints run at once, each with its own history.
 */
import { deepStrictEqual, ok } from 'node:assert/strict';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import {
  writeResults,
  type AttemptRecord,
  type DeliveryOutcome,
} from '../../src/webhooks/deliveries/rows/delivery-results.js';
import type { DueDelivery } from '../../src/webhooks/deliveries/rows/due-deliveries.js';
import { deactivateLane, wakeLanes } from '../../src/outbox/lane-rows.js';
import { LaneScan } from '../../src/webhooks/deliveries/rows/lane-scan.js';
import { Lanes } from '../../src/webhooks/deliveries/rows/lanes.js';
import { holdBlocked } from '../../src/webhooks/deliveries/rows/order.js';
import { addEvents } from '../../src/outbox/outbox.js';
import { repeat } from '../support/counter-stores.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { announceHistories, HISTORIES_TIMEOUT_MS, RUNS } from '../support/histories.js';
import { SeededRandom } from '../support/seeded-random.js';
import { TestClock } from '../support/stores.js';
import { addAccount, addEndpoint, attemptOf, dueOf, serviceEvent } from '../support/webhooks.js';

const AT_ONCE = 100;
const ROUNDS = 24;
const STEPS = ['add', 'add', 'claim', 'claim', 'read', 'read', 'finish', 'finish', 'finish', 'kill', 'lease', 'renew'];
const RARE_STEPS = ['sleep', 'pause', 'resume', 'replay'];

announceHistories('webhook deliveries');

interface Modelled {
  state: 'open' | 'succeeded' | 'failed';
  attempts: number;
  cycle: number;
  readonly resource: string | null;
  readonly number: number;
}

interface Worker {
  isOwner: boolean;
  underWay: DueDelivery[];
}

interface World {
  readonly endpointId: string;
  readonly accountId: string;
  readonly isOrdered: boolean;
  readonly deliveries: Map<string, Modelled>;
  readonly workers: [Worker, Worker];
}

describeOnDatabases('random histories of webhook endpoints', (kind) => {
  let database: DatabaseHandle;
  let clock: TestClock;
  let lanes: [Lanes, Lanes];
  beforeEach(async () => {
    database = await testDatabase(kind);
    clock = new TestClock();
    lanes = [new Lanes(database.db, kind, clock, 'one'), new Lanes(database.db, kind, clock, 'other')];
  });
  afterEach(() => database.close());

  async function newWorld(index: number): Promise<World> {
    const accountId = `acc_${index}`;
    await addAccount(database.db, accountId, clock.now());
    const isOrdered = index % 2 === 0;
    const ordered = isOrdered ? 1 : 0;
    const endpointId = await addEndpoint(database.db, clock.now(), { account_id: accountId, ordered });
    const worker = (): Worker => ({ isOwner: false, underWay: [] });
    return { endpointId, accountId, isOrdered, deliveries: new Map(), workers: [worker(), worker()] };
  }

  let events = 0;
  async function add(worlds: readonly World[], random: SeededRandom): Promise<void> {
    const added = worlds.map(({ accountId }) =>
      serviceEvent(`${++events}`, { accountId, resource: random.of(['a', 'b', null]) }),
    );
    await addEvents(database.db, added, clock.now());
    const rows = await database.db
      .selectFrom('webhook_delivery')
      .innerJoin('event', 'event.id', 'webhook_delivery.event_id')
      .select(['webhook_delivery.id', 'event.dedupe_key'])
      .where(
        'event.dedupe_key',
        'in',
        added.map(({ dedupeKey }) => dedupeKey),
      )
      .execute();
    const ids = new Map(rows.map((row) => [row.dedupe_key, row.id]));
    for (const [index, { dedupeKey, resource }] of added.entries()) {
      const { deliveries } = worlds[index]!;
      const fresh = { state: 'open', attempts: 0, cycle: 0 } as const;
      deliveries.set(ids.get(dedupeKey)!, { ...fresh, resource, number: deliveries.size });
    }
  }

  /** Lets both workers claim all lanes concurrently. Expects no lane to be claimed twice. */
  async function claim(worlds: readonly World[]): Promise<void> {
    const ids = worlds.map(({ endpointId }) => endpointId);
    const taken = await Promise.all(lanes.map((each) => each.claimThese(ids)));
    deepStrictEqual(new Set(taken.flat()).size, taken.flat().length);
    for (const [who, own] of taken.entries()) {
      for (const world of worlds) if (own.includes(world.endpointId)) world.workers[who]!.isOwner = true;
    }
  }

  async function read({ endpointId, isOrdered, deliveries }: World, worker: Worker, isAlone: boolean): Promise<void> {
    const except = worker.underWay.map(({ id }) => id);
    const due = await dueOf(database.db, { endpointId, except }, { nowMs: clock.now(), most: 4, isOrdered });
    const blocked = due.filter(({ isBlocked }) => isBlocked).map(({ id }) => id);
    await holdBlocked(database.db, endpointId, blocked, clock.now());
    for (const each of due.filter(({ isBlocked }) => !isBlocked)) {
      const own = deliveries.get(each.id)!;
      const isFirst = [...deliveries.values()].every(
        ({ state, resource, number }) => state !== 'open' || resource !== own.resource || number >= own.number,
      );
      ok(!isOrdered || own.resource === null || isFirst, 'an older delivery of the resource is open');
      ok(own.state === 'open', 'what has ended is attempted');
      if (isAlone) deepStrictEqual([each.attempts, each.cycle], [own.attempts, own.cycle]);
      worker.underWay.push(each);
    }
  }

  async function finish(finished: readonly (readonly [World, DueDelivery, DeliveryOutcome])[]): Promise<void> {
    const records = finished.map(([{ isOrdered }, delivery, outcome]): AttemptRecord => {
      return attemptOf(delivery, outcome, { isOrdered });
    });
    if (records.length === 0) return;
    const { changed } = await writeResults(database.db, records, [], clock.now());
    for (const [{ deliveries }, { id, attempts, cycle }, { state }] of finished) {
      const own = deliveries.get(id)!;
      const isCurrent = own.state === 'open' && own.attempts === attempts;
      const counts = own.cycle === cycle && (isCurrent || (state === 'succeeded' && own.state !== 'succeeded'));
      deepStrictEqual([id, changed.has(id)], [id, counts]);
      if (!counts) continue;
      own.attempts = Math.max(own.attempts, attempts + 1);
      own.state = state === 'pending' ? 'open' : state;
    }
  }

  async function replay({ endpointId, deliveries }: World, random: SeededRandom): Promise<void> {
    const ended = [...deliveries].filter(([, { state }]) => state !== 'open');
    if (ended.length === 0) return;
    const [id, own] = random.of(ended);
    const change = { state: 'pending' as const, reason: null, due_at: clock.now(), attempts: 0, cycle: own.cycle + 1 };
    await database.db.updateTable('webhook_delivery').set(change).where('id', '=', id).execute();
    await wakeLanes(database.db, [endpointId], clock.now());
    Object.assign(own, { state: 'open', attempts: 0, cycle: own.cycle + 1 });
  }

  async function step(name: string, world: World, random: SeededRandom): Promise<void> {
    const { endpointId, workers } = world;
    const who = random.below(2);
    const worker = workers[who]!;
    const endpoint = database.db.updateTable('webhook_endpoint').where('id', '=', endpointId);
    if (name === 'read' && worker.isOwner) await read(world, worker, !workers[1 - who]!.isOwner);
    if (name === 'kill') Object.assign(worker, { isOwner: false, underWay: [] });
    if (name === 'lease') {
      const lane = database.db.updateTable('webhook_lane').where('endpoint_id', '=', endpointId);
      await lane.set({ owned_until: 0 }).execute();
    }
    if (name === 'renew' && worker.isOwner) worker.isOwner = (await lanes[who]!.renew([endpointId])).has(endpointId);
    if (name === 'sleep' && worker.isOwner) {
      await lanes[who]!.releaseIdle([endpointId]);
      worker.isOwner = false;
    }
    if (name === 'pause') {
      await endpoint.set({ status: 'paused' }).execute();
      await deactivateLane(database.db, endpointId);
    }
    if (name === 'resume') {
      await endpoint.set({ status: 'enabled' }).execute();
      await wakeLanes(database.db, [endpointId], clock.now());
    }
    if (name === 'replay') await replay(world, random);
  }

  /** Performs one random step in every world. Shares statements between worlds where possible. */
  async function round(worlds: readonly World[], random: SeededRandom): Promise<void> {
    const names = worlds.map(() => random.of(random.oneIn(8) ? RARE_STEPS : STEPS));
    const those = (name: string) => worlds.filter((_, index) => names[index] === name);
    if (those('add').length > 0) await add(those('add'), random);
    await claim(those('claim'));
    const finished = those('finish').flatMap((world) => {
      const delivery = random.of(world.workers).underWay.shift();
      const later = { state: 'pending', dueAtMs: clock.now() + random.below(5_000) } as const;
      const outcomes: DeliveryOutcome[] = [{ state: 'succeeded' }, later, { state: 'failed', reason: 'exhausted' }];
      return delivery === undefined ? [] : [[world, delivery, random.of(outcomes)] as const];
    });
    await finish(finished);
    for (const [index, world] of worlds.entries()) await step(names[index]!, world, random);
    clock.advance(1_000);
  }

  /** Ends all leases and lets a new owner deliver everything that waits. It finds the lanes by the scan only. */
  async function drain(worlds: readonly World[]): Promise<void> {
    await database.db.updateTable('webhook_endpoint').set({ status: 'enabled' }).execute();
    await database.db.updateTable('webhook_lane').set({ owned_until: 0 }).execute();
    clock.advance(60_000);
    const last = new Lanes(database.db, kind, clock, 'last');
    const byId = new Map(worlds.map((world) => [world.endpointId, world]));
    const scan = new LaneScan(database.db, clock);
    await scan.scan();
    for (let owned = await last.claim(AT_ONCE); owned.length > 0; owned = await last.claim(AT_ONCE)) {
      for (let finished = [undefined]; finished.length > 0;) {
        const all: (readonly [World, DueDelivery, DeliveryOutcome])[] = [];
        for (const id of owned) {
          const world = byId.get(id)!;
          const worker: Worker = { isOwner: true, underWay: [] };
          await read(world, worker, true);
          all.push(...worker.underWay.map((each) => [world, each, { state: 'succeeded' }] as const));
        }
        await finish(all);
        finished = all.map(() => undefined);
      }
      await last.releaseIdle(owned);
    }
  }

  it(
    'lose no delivery, keep the order of ordered endpoints, and end with the rows of the model',
    async () => {
      const random = new SeededRandom(RUNS.seed);
      for (let played = 0; played < RUNS.numRuns; played += AT_ONCE) {
        const count = Math.min(AT_ONCE, RUNS.numRuns - played);
        const worlds = await Promise.all(repeat(count, (index) => newWorld(played + index)));
        for (let turn = 0; turn < ROUNDS; turn++) await round(worlds, random);
        await drain(worlds);
        const rows = await database.db.selectFrom('webhook_delivery').selectAll().orderBy('id').execute();
        const modelled = worlds.flatMap(({ deliveries }) => [...deliveries]);
        deepStrictEqual(
          Array.from(rows, ({ id, state, attempts, cycle }) => ({ id, state, attempts, cycle })),
          modelled
            .toSorted(([one], [other]) => (one < other ? -1 : 1))
            .map(([id, { state, attempts, cycle }]) => ({ id, state, attempts, cycle })),
        );
        expect(rows.some(({ state }) => state === 'pending' || state === 'held')).toBe(false);
        for (const table of ['webhook_delivery', 'webhook_lane'] as const) {
          await database.db.deleteFrom(table).execute();
        }
      }
    },
    HISTORIES_TIMEOUT_MS,
  );
});
