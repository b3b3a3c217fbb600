/** Results of delivery attempts are written once, release ordered deliveries, and are deleted in time. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import {
  writeResults,
  type AttemptRecord,
  type EndpointHealth,
} from '../../src/webhooks/deliveries/rows/delivery-results.js';
import { readPayloads } from '../../src/webhooks/deliveries/rows/due-deliveries.js';
import { ASLEEP, deactivateLane } from '../../src/outbox/lane-rows.js';
import { holdBlocked, lockLanes, releaseSome } from '../../src/webhooks/deliveries/rows/order.js';
import { DeliveryRetention } from '../../src/webhooks/deliveries/rows/retention.js';
import { WorkSignal } from '../../src/outbox/work-signal.js';
import { addEvents } from '../../src/outbox/outbox.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { TestClock } from '../support/stores.js';
import { addAccount, addEndpoint, attemptOf, deliveriesIn, dueOf, serviceEvent } from '../support/webhooks.js';

const DAY_MS = 86_400_000;
const SUCCEEDED = { state: 'succeeded' } as const;
const EXHAUSTED = { state: 'failed', reason: 'exhausted' } as const;

describeOnDatabases('webhook deliveries', (kind) => {
  let database: DatabaseHandle;
  let clock: TestClock;
  let endpointId: string;
  beforeEach(async () => {
    database = await testDatabase(kind);
    clock = new TestClock();
    await addAccount(database.db, 'acc_1', clock.now());
    endpointId = await addEndpoint(database.db, clock.now(), { ordered: 1 });
  });
  afterEach(() => database.close());

  const add = (...resources: (string | null)[]) =>
    addEvents(
      database.db,
      resources.map((resource, index) => serviceEvent(`${index} at ${clock.now()}`, { resource })),
      clock.now(),
    );
  const due = (isOrdered = false, except: readonly string[] = []) =>
    dueOf(database.db, { endpointId, except }, { nowMs: clock.now(), most: 8, isOrdered });
  const write = (records: readonly AttemptRecord[], health: readonly EndpointHealth[] = []) =>
    writeResults(database.db, records, health, clock.now());
  const states = async () => (await deliveriesIn(database.db)).map(({ state, reason }) => reason ?? state);
  const hold = async () => {
    const blocked = (await due(true)).filter(({ isBlocked }) => isBlocked);
    await holdBlocked(
      database.db,
      endpointId,
      blocked.map(({ id }) => id),
      clock.now(),
    );
  };
  const attempts = () => database.db.selectFrom('webhook_attempt').selectAll().orderBy('id').execute();

  it('are read when they are due, with their exact payload, except those under way', async () => {
    await add('cus_1', null);
    const [first, second] = await due();
    expect([first?.resource, second?.resource, first?.isBlocked]).toEqual(['cus_1', null, false]);
    expect(await due(false, [first!.id])).toEqual([second]);
    const payloads = await readPayloads(database.db, [first!.eventId, second!.eventId, 'evt_none']);
    expect([...payloads.keys()].toSorted()).toEqual([first!.eventId, second!.eventId].toSorted());
    expect(payloads.get(first!.eventId)).toMatchObject({
      type: 'customer.created',
      accountId: 'acc_1',
      occurredAt: 1_795_000_000_000,
      dataText: JSON.stringify({ name: `0 at ${clock.now()}` }),
    });
  });

  it('get the state of their attempts, each stored with its response', async () => {
    await add(null, null, null);
    const [one, two, three] = await due();
    const later = { state: 'pending', dueAtMs: clock.now() + 5_000 } as const;
    const written = await write([
      attemptOf(one!, SUCCEEDED),
      attemptOf(two!, later, { statusCode: null, error: 'ECONNREFUSED', responseBody: null }),
      attemptOf(three!, EXHAUSTED, { responseBody: `\0\ud800${'x'.repeat(2_000)}` }),
    ]);
    expect(written).toEqual({ changed: new Set([one!.id, two!.id, three!.id]), released: [] });
    expect(await states()).toEqual(['succeeded', 'pending', 'exhausted']);
    expect((await deliveriesIn(database.db)).map((row) => [row.attempts, row.due_at - clock.now()])).toEqual([
      [1, 0],
      [1, 5_000],
      [1, 0],
    ]);
    const [first, second, third] = await attempts();
    expect(first).toMatchObject({ delivery_id: one!.id, number: 1, cycle: 0, status_code: 204, error: null });
    expect(second).toMatchObject({ status_code: null, error: 'ECONNREFUSED', response_body: null, duration_ms: 12 });
    expect(third?.response_body).toBe(`\ufffd\ufffd${'x'.repeat(1_022)}`);
  });

  it('are not changed by a late owner, whose attempts are still stored', async () => {
    await add(null, null);
    const [one, two] = await due();
    await write([attemptOf(one!, { state: 'pending', dueAtMs: clock.now() + 5_000 }), attemptOf(two!, SUCCEEDED)]);
    const late = await write([attemptOf(one!, EXHAUSTED), attemptOf(two!, EXHAUSTED)]);
    expect(late.changed).toEqual(new Set());
    expect(await states()).toEqual(['pending', 'succeeded']);
    expect((await attempts()).map(({ number }) => number)).toEqual([1, 1, 1, 1]);
  });

  it('succeed on a late success of the receiver, unless they were replayed meanwhile', async () => {
    await add(null, null);
    const [one, two] = await due();
    await write([attemptOf(one!, EXHAUSTED)]);
    await database.db.updateTable('webhook_delivery').set({ cycle: 1 }).where('id', '=', two!.id).execute();
    expect((await write([attemptOf(one!, SUCCEEDED), attemptOf(two!, SUCCEEDED)])).changed).toEqual(new Set([one!.id]));
    expect(await states()).toEqual(['succeeded', 'pending']);
  });

  it('that were deleted meanwhile do not affect the others of a batch', async () => {
    await add(null, null);
    const [one, two] = await due();
    await database.db.deleteFrom('webhook_delivery').where('id', '=', one!.id).execute();
    expect((await write([attemptOf(one!, SUCCEEDED), attemptOf(two!, SUCCEEDED)])).changed).toEqual(new Set([two!.id]));
    expect(await attempts()).toHaveLength(1);
  });

  it('of one resource are released one after the other, independent of other resources', async () => {
    await add('a', 'a', 'b', null, 'a');
    expect((await due(true)).map(({ isBlocked }) => isBlocked)).toEqual([false, true, false, false, true]);
    await hold();
    expect(await states()).toEqual(['pending', 'held', 'pending', 'pending', 'held']);
    const [first] = await due(true);
    await deactivateLane(database.db, endpointId);
    await write([attemptOf(first!, { state: 'pending', dueAtMs: clock.now() }, { isOrdered: true })]);
    expect(await states()).toEqual(['pending', 'held', 'pending', 'pending', 'held']);
    const [again] = await due(true);
    const written = await write([attemptOf(again!, EXHAUSTED, { isOrdered: true })]);
    expect(written.released).toEqual([endpointId]);
    expect(await states()).toEqual(['exhausted', 'pending', 'pending', 'pending', 'held']);
    const { due_at: laneDueAt } = await database.db.selectFrom('webhook_lane').selectAll().executeTakeFirstOrThrow();
    expect(laneDueAt).toBe(clock.now());
  });

  it('are not held behind a delivery that has ended meanwhile', async () => {
    await add('a', 'a');
    const [first, second] = await due(true);
    await write([attemptOf(first!, SUCCEEDED, { isOrdered: true })]);
    await holdBlocked(database.db, endpointId, [second!.id], clock.now());
    expect(await states()).toEqual(['succeeded', 'pending']);
  });

  it('that are held are all released when ordering is turned off', async () => {
    await add('a', 'a', 'a');
    await hold();
    await database.db.transaction().execute(async (trx) => {
      await lockLanes(trx, [endpointId]);
      await releaseSome(trx, endpointId, clock.now());
    });
    expect(await states()).toEqual(['pending', 'pending', 'pending']);
  });

  it('record since when and how often their endpoint has failed, until it succeeds', async () => {
    const now = clock.now();
    const none = { endpointId, succeededAtMs: null, failures: 0, failingSinceMs: null };
    const health = async () => {
      const row = await database.db.selectFrom('webhook_endpoint').selectAll().executeTakeFirstOrThrow();
      return [row.last_success_at, row.failing_since, row.failures];
    };
    await add(null);
    const [one] = await due();
    const record = [attemptOf(one!, { state: 'pending', dueAtMs: now })];
    await write(record, [{ ...none, failures: 2, failingSinceMs: now }]);
    await write(record, [{ ...none, failures: 3, failingSinceMs: now + 50 }]);
    expect(await health()).toEqual([null, now, 5]);
    await write(record, [{ ...none, succeededAtMs: now + 60, failures: 1, failingSinceMs: now + 70 }]);
    expect(await health()).toEqual([now + 60, now + 70, 1]);
    await write(record, [{ ...none, succeededAtMs: now + 80 }]);
    expect(await health()).toEqual([now + 80, null, 0]);
  });

  it('expire after thirty days, can be replayed for thirty more, and are then deleted', async () => {
    const signaled: unknown[] = [];
    const signal = new WorkSignal();
    signal.addFollower((each) => signaled.push(each));
    const retention = new DeliveryRetention(database.db, clock, signal);
    await add('a', null);
    clock.advance(DAY_MS);
    await add('a');
    await hold();
    expect(await states()).toEqual(['pending', 'pending', 'held']);
    clock.advance(29 * DAY_MS);
    await retention.sweep();
    expect([await states(), signaled]).toEqual([['expired', 'expired', 'pending'], [[endpointId]]]);
    const [first] = await due();
    await write([attemptOf(first!, SUCCEEDED)]);
    clock.advance(DAY_MS);
    await retention.sweep();
    expect(await states()).toEqual(['expired', 'expired']);
    expect(await attempts()).toEqual([]);
    clock.advance(29 * DAY_MS);
    await retention.sweep();
    expect(await states()).toEqual([]);
    const lane = await database.db.selectFrom('webhook_lane').select('due_at').executeTakeFirst();
    expect(lane?.due_at).toBeLessThan(ASLEEP);
  });
});
