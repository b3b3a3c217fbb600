/** The lane of a webhook endpoint has one owner at a time, despite crashes and wrong clocks. No delivery is lost. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { ASLEEP, deactivateLane, wakeLanes } from '../../src/outbox/lane-rows.js';
import { LaneScan } from '../../src/webhooks/deliveries/rows/lane-scan.js';
import { Lanes, LEASE_MS } from '../../src/webhooks/deliveries/rows/lanes.js';
import { addEvents } from '../../src/outbox/outbox.js';
import { repeat } from '../support/counter-stores.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { TestClock } from '../support/stores.js';
import { addAccount, addEndpoint, dueOf, serviceEvent, type EndpointOptions } from '../support/webhooks.js';

const DAY_MS = 86_400_000;

describeOnDatabases('webhook lanes', (kind) => {
  let database: DatabaseHandle;
  let clock: TestClock;
  beforeEach(async () => {
    database = await testDatabase(kind);
    clock = new TestClock();
    await addAccount(database.db, 'acc_1', clock.now());
  });
  afterEach(() => database.close());

  const lanes = (owner: string, at = clock) => new Lanes(database.db, kind, at, owner);
  const endpoints = (count: number, options?: EndpointOptions) =>
    Promise.all(repeat(count, () => addEndpoint(database.db, clock.now(), options)));
  let events = 0;
  const addEvent = (db = database.db) => addEvents(db, [serviceEvent(`event ${++events}`)], clock.now());
  const lane = (id: string) =>
    database.db.selectFrom('webhook_lane').selectAll().where('endpoint_id', '=', id).executeTakeFirstOrThrow();
  /** Lets the lease expire. On PostgreSQL, leases use the clock of the server. */
  async function passLease(): Promise<void> {
    if (kind === 'sqlite') clock.advance(LEASE_MS);
    else await database.db.updateTable('webhook_lane').set({ owned_until: 1 }).where('owner', 'is not', null).execute();
  }

  it('are each claimed by one of eight concurrent workers, and all are claimed', async () => {
    const ids = await endpoints(40);
    await addEvent();
    const claimed = await Promise.all(repeat(8, (turn) => lanes(`w${turn}`).claim(10)));
    expect(claimed.flat().toSorted()).toEqual(ids.toSorted());
    expect(Math.max(...claimed.map((each) => each.length))).toBeLessThanOrEqual(10);
    expect(await lanes('late').claim(10)).toEqual([]);
  });

  it('are claimed when they are due, the longest waiting first', async () => {
    const [first, second] = await endpoints(2);
    await wakeLanes(database.db, [second!], clock.now() - 1);
    await wakeLanes(database.db, [first!], clock.now());
    expect(await lanes('w').claim(1)).toEqual([second]);
    expect(await lanes('w').claim(1)).toEqual([first]);
    expect(await lanes('w').claim(1)).toEqual([]);
  });

  it('stay with their owner while the lease is renewed, and can be claimed once it ends', async () => {
    const [id] = await endpoints(1);
    await addEvent();
    const [one, other] = [lanes('one'), lanes('other')];
    await one.claim(1);
    clock.advance(LEASE_MS - 1);
    expect(await one.renew([id!])).toEqual(new Set([id]));
    clock.advance(LEASE_MS - 1);
    expect(await other.claim(1)).toEqual([]);
    await passLease();
    expect(await other.claim(1)).toEqual([id]);
    expect(await one.renew([id!])).toEqual(new Set());
    expect([await one.releaseIdle([id!]), (await lane(id!)).owner]).toEqual([[], 'other']);
  });

  it('are free at once when their owner releases them, or when other leases are ended', async () => {
    const ids = await endpoints(2);
    await addEvent();
    const [one, other] = [lanes('one'), lanes('other')];
    await one.claim(2);
    await one.release();
    expect((await other.claim(2)).toSorted()).toEqual(ids.toSorted());
    await one.endOtherLeases();
    expect((await one.claim(2)).toSorted()).toEqual(ids.toSorted());
  });

  it('of a dead owner are free at once, unlike those of other owners', async () => {
    const ids = await endpoints(3);
    await addEvent();
    const [dead, alive] = [await lanes('dead').claim(2), await lanes('alive').claim(1)];
    const next = lanes('next');
    await next.endDeadLeases((owner) => owner === 'dead');
    expect((await next.claim(3)).toSorted()).toEqual(dead.toSorted());
    expect([...dead, ...alive].toSorted()).toEqual(ids.toSorted());
  });

  it('are not lost to a clock that is ahead, and do not wait for a lease from such a clock', async () => {
    const [id] = await endpoints(1);
    await addEvent();
    const ahead = new TestClock(clock.now() + DAY_MS);
    await lanes('one').claim(1);
    // On SQLite, leases use the clock of the process. For a process whose clock is ahead, the lease has ended.
    expect(await lanes('ahead', ahead).claim(1)).toEqual(kind === 'postgres' ? [] : [id]);
    await passLease();
    await lanes('ahead', ahead).claim(1);
    await database.db
      .updateTable('webhook_lane')
      .set(({ eb }) => ({ owned_until: eb('owned_until', '+', DAY_MS) }))
      .execute();
    expect(await lanes('one').claim(1)).toEqual([id]);
  });

  it('sleep until their next delivery, or indefinitely without one or when paused', async () => {
    const [idle, later, paused] = await endpoints(3);
    await addEvent();
    const dueAt = clock.now() + 60_000;
    const set = database.db.updateTable('webhook_delivery');
    await set.set({ state: 'succeeded' }).where('endpoint_id', '=', idle!).execute();
    await set.set({ due_at: dueAt }).where('endpoint_id', '=', later!).execute();
    const owner = lanes('w');
    await owner.claim(3);
    await database.db.updateTable('webhook_endpoint').set({ status: 'paused' }).where('id', '=', paused!).execute();
    await deactivateLane(database.db, paused!);
    expect(
      new Map((await owner.releaseIdle([idle!, later!, paused!])).map((each) => [each.endpointId, each.dueAtMs])),
    ).toEqual(
      new Map([
        [idle, ASLEEP],
        [later, dueAt],
        [paused, ASLEEP],
      ]),
    );
    expect(await owner.claim(3)).toEqual([]);
    clock.advance(60_000);
    expect(await owner.claim(3)).toEqual([later]);
  });

  it('are due again when a delivery is committed while their owner puts them to sleep', async () => {
    const [id] = await endpoints(1);
    await addEvent();
    const owner = lanes('owner');
    await owner.claim(1);
    await database.db.updateTable('webhook_delivery').set({ state: 'succeeded' }).execute();
    // 1. A transaction adds a delivery. It finds the lane due, so it wakes nothing.
    let commit = (): void => {};
    const committed = new Promise<void>((resolve) => (commit = resolve));
    let isAdded = (): void => {};
    const added = new Promise<void>((resolve) => (isAdded = resolve));
    const adding = database.db.transaction().execute(async (trx) => {
      await addEvent(trx);
      isAdded();
      await committed;
    });
    await added;
    // 2. The owner does not see the delivery, and puts the lane to sleep. With SQLite, it waits for the transaction.
    const falling = owner.releaseIdle([id!]);
    if (kind === 'postgres') await falling;
    // 3. The transaction commits.
    commit();
    await adding;
    await falling;
    const found = await new LaneScan(database.db, clock).findLate([id!]);
    expect([found, (await lane(id!)).due_at]).toEqual([kind === 'postgres' ? [id] : [], clock.now()]);
    expect(await lanes('any').claim(1)).toEqual([id]);
  });

  it('are claimed by ID if they have no owner, due or not', async () => {
    const [free, owned] = await endpoints(2);
    await lanes('other').claimThese([owned!]);
    expect(await lanes('one').claimThese([free!, owned!, 'whe_none'])).toEqual([free]);
    expect(await lanes('one').claimThese([])).toEqual([]);
  });

  it('that are due without an owner are reported by the oldest due time', async () => {
    const [first, second, later] = await endpoints(3);
    expect(await lanes('any').findOldestUnowned()).toBeUndefined();
    const due = [clock.now() - 5_000, clock.now() - 2_000, clock.now() + 1_000];
    for (const [at, id] of [first, second, later].entries()) {
      await database.db.updateTable('webhook_lane').set({ due_at: due[at]! }).where('endpoint_id', '=', id!).execute();
    }
    expect(await lanes('any').findOldestUnowned()).toBe(due[0]);
    await lanes('one').claim(1);
    expect(await lanes('any').findOldestUnowned()).toBe(due[1]);
  });

  it('that sleep despite a due delivery are woken by the scan, and no others', async () => {
    const [hidden, later, paused, idle] = await endpoints(4);
    await addEvent();
    await database.db
      .updateTable('webhook_delivery')
      .set({ due_at: clock.now() + 1_000 })
      .where('endpoint_id', '=', later!)
      .execute();
    await database.db.deleteFrom('webhook_delivery').where('endpoint_id', '=', idle!).execute();
    await database.db.updateTable('webhook_endpoint').set({ status: 'paused' }).where('id', '=', paused!).execute();
    for (const id of [hidden, later, paused, idle]) await deactivateLane(database.db, id!);
    const scan = new LaneScan(database.db, clock);
    expect(await scan.scan()).toEqual([hidden]);
    expect([(await lane(hidden!)).due_at, (await lane(later!)).due_at]).toEqual([clock.now(), clock.now() + 1_000]);
    expect([(await lane(paused!)).due_at, (await lane(idle!)).due_at]).toEqual([ASLEEP, ASLEEP]);
    expect(await scan.scan()).toEqual([]);
  });

  it('have a delivery due at once whose due time is impossibly late', async () => {
    const [id] = await endpoints(1);
    await addEvent();
    await database.db
      .updateTable('webhook_delivery')
      .set({ due_at: clock.now() + 2 * DAY_MS })
      .execute();
    await lanes('w').claim(1);
    await lanes('w').releaseIdle([id!]);
    expect(await new LaneScan(database.db, clock).scan()).toEqual([id]);
    const query = { nowMs: clock.now(), most: 8, isOrdered: false };
    expect(await dueOf(database.db, { endpointId: id!, except: [] }, query)).toHaveLength(1);
  });
});
