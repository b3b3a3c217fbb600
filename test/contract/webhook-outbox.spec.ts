/** An event is stored with its deliveries or not at all, and each endpoint gets only its own events. */
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import type { Kysely } from 'kysely';
import pg from 'pg';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { SqliteClient } from '../../src/stores/database/sqlite-client.js';
import type { Tables } from '../../src/stores/database/schema.js';
import { ASLEEP } from '../../src/outbox/lane-rows.js';
import { addEvents, type AddedEvents } from '../../src/outbox/outbox.js';
import type { ForeignEvent, NewEvent } from '../../src/outbox/event-types.js';
import { repeat } from '../support/counter-stores.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { TestClock } from '../support/stores.js';
import { addAccount, addEndpoint, deliveriesIn, serviceEvent, type EndpointOptions } from '../support/webhooks.js';

describeOnDatabases('the event outbox with webhook endpoints', (kind) => {
  let database: DatabaseHandle;
  let clock: TestClock;
  beforeEach(async () => {
    database = await testDatabase(kind);
    clock = new TestClock();
    for (const id of ['acc_1', 'acc_2']) await addAccount(database.db, id, clock.now());
  });
  afterEach(() => database.close());

  const endpoint = (options?: EndpointOptions) => addEndpoint(database.db, clock.now(), options);
  const add = (events: readonly (NewEvent | ForeignEvent)[], db: Kysely<Tables> = database.db) =>
    addEvents(db, events, clock.now());
  const numbersOf = ({ events }: AddedEvents) => [...events.values()].map(({ deliveries }) => deliveries);
  const lanesDue = async () =>
    (await database.db.selectFrom('webhook_lane').selectAll().execute())
      .filter(({ due_at: dueAt }) => dueAt < ASLEEP)
      .map(({ endpoint_id: id }) => id);

  it('creates a delivery for each subscribed endpoint, due at once, and wakes its lane', async () => {
    const [all, family, one] = [
      await endpoint(),
      await endpoint({ event_types: '["customer.*"]' }),
      await endpoint({ event_types: '["customer.created","tour.created"]' }),
    ];
    await endpoint({ event_types: '["customer.deleted"]' });
    const added = await add([serviceEvent('ana', { resource: 'cus_1' })]);
    const [event] = added.events.values();
    expect(event?.deliveries).toBe(3);
    expect([...added.endpointIds].toSorted()).toEqual([all, family, one].toSorted());
    expect(await lanesDue()).toEqual(expect.arrayContaining([all, family, one]));
    expect(await lanesDue()).toHaveLength(3);
    const now = clock.now();
    expect(await deliveriesIn(database.db)).toEqual(
      [all, family, one].map((id) => ({
        id: expect.stringMatching(/^whd_[0-9a-z]{25}$/),
        event_id: event?.id,
        endpoint_id: id,
        account_id: 'acc_1',
        state: 'pending',
        reason: null,
        resource: 'cus_1',
        due_at: now,
        attempts: 0,
        cycle: 0,
        kind: 'event',
        created_at: now,
        updated_at: now,
        keep_until: now + 30 * 86_400_000,
      })),
    );
  });

  it('creates no delivery for an endpoint of another account', async () => {
    const mine = await endpoint();
    await endpoint({ account_id: 'acc_2' });
    expect((await add([serviceEvent('ana')])).endpointIds).toEqual([mine]);
    expect((await deliveriesIn(database.db)).map((row) => row.endpoint_id)).toEqual([mine]);
  });

  it('creates deliveries for paused and disabled endpoints, but wakes none, and skips deleted ones', async () => {
    const waiting = [await endpoint({ status: 'paused' }), await endpoint({ status: 'disabled' })];
    await endpoint({ deleted_at: clock.now() });
    const added = await add([serviceEvent('ana')]);
    expect([numbersOf(added), added.endpointIds]).toEqual([[2], []]);
    expect((await deliveriesIn(database.db)).map((row) => [row.endpoint_id, row.state])).toEqual(
      waiting.map((id) => [id, 'pending']),
    );
    expect(await lanesDue()).toEqual([]);
  });

  it('delivers an event about an endpoint only to the other endpoints of the account', async () => {
    const [about, other] = [await endpoint(), await endpoint()];
    const event = { ...quotaEvent('one'), exceptEndpointId: about };
    expect((await add([event])).endpointIds).toEqual([other]);
  });

  it('creates no second delivery of an event that is added twice', async () => {
    await endpoint();
    expect(numbersOf(await add([serviceEvent('ana'), serviceEvent('ana')]))).toEqual([1]);
    expect(await add([serviceEvent('ana')])).toEqual({ events: new Map(), endpointIds: [] });
    expect(await deliveriesIn(database.db)).toHaveLength(1);
  });

  it('adds the event, its deliveries and the wake-up in one transaction', async () => {
    await endpoint();
    const change = database.db.transaction().execute(async (trx) => {
      await add([serviceEvent('ana')], trx);
      throw new Error('the change failed');
    });
    await expect(change).rejects.toThrow('the change failed');
    expect([await deliveriesIn(database.db), await lanesDue()]).toEqual([[], []]);
    expect(numbersOf(await add([serviceEvent('ana')]))).toEqual([1]);
  });

  it('adds neither event nor delivery when the deliveries cannot be written', async () => {
    await endpoint();
    await database.db.schema.dropTable('webhook_attempt').execute();
    await database.db.schema.alterTable('webhook_delivery').renameTo('away').execute();
    await expect(add([serviceEvent('ana')])).rejects.toThrow('webhook_delivery');
    await database.db.schema.alterTable('away').renameTo('webhook_delivery').execute();
    expect(numbersOf(await add([serviceEvent('ana')]))).toEqual([1]);
  });

  it('creates deliveries in the order of their events', async () => {
    await endpoint();
    const names = ['d', 'a', 'c', 'b'];
    const added = await add(names.map((name) => serviceEvent(name)));
    const ids = names.map((name) => added.events.get(`svc:customers:${name}`)?.id);
    expect((await deliveriesIn(database.db)).map((row) => row.event_id)).toEqual(ids);
    expect(ids.toSorted()).toEqual(ids);
  });

  it('does not change the due time of a lane that is already due', async () => {
    const id = await endpoint();
    await add([serviceEvent('one')]);
    clock.advance(1_000);
    await add([serviceEvent('two')]);
    const lane = database.db.selectFrom('webhook_lane').select('due_at').where('endpoint_id', '=', id);
    expect(await lane.executeTakeFirst()).toEqual({ due_at: clock.now() - 1_000 });
  });

  it('creates each delivery once when four callers add 700 events concurrently', async () => {
    for (let count = 0; count < 3; count++) await endpoint();
    const many = repeat(700, (index) => serviceEvent(`event ${index}`));
    const added = await Promise.all(repeat(4, (turn) => add(turn % 2 === 0 ? many : many.toReversed())));
    const numbers = added.flatMap(numbersOf);
    expect([numbers.length, new Set(numbers)]).toEqual([700, new Set([3])]);
    const pairs = (await deliveriesIn(database.db)).map((row) => `${row.event_id} ${row.endpoint_id}`);
    expect([pairs.length, new Set(pairs).size]).toEqual([2_100, 2_100]);
  });

  it('needs only one extra statement when there is no endpoint', async () => {
    const messages = jest.spyOn(SqliteClient.prototype, 'run');
    const queries = jest.spyOn(pg.Client.prototype, 'query');
    await add([serviceEvent('ana'), quotaEvent('two')]);
    const statements = messages.mock.calls.map(([together]) => together.length);
    const asked = { sqlite: statements, postgres: queries.mock.calls.length };
    messages.mockRestore();
    queries.mockRestore();
    // On SQLite, the transaction begins with the first message and ends with the second.
    const expected = { sqlite: [2, 0], postgres: ['begin', 'insert', 'endpoints', 'commit'].length };
    expect(asked[kind]).toEqual(expected[kind]);
  });
});

function quotaEvent(name: string): NewEvent {
  const month = { period_start: '', period_end: '', resets_at: '' };
  const reached = { policy: 'account-month', threshold_percent: 80, limit: 10, used: 8 } as const;
  return {
    type: 'quota.threshold_reached',
    accountId: 'acc_1',
    data: { account_id: 'acc_1', api_key_id: null, ...reached, ...month },
    dedupeKey: name,
  };
}
