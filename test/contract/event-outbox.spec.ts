/** Guarantees of the event outbox, on SQLite and PostgreSQL. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { openDatabase, type DatabaseHandle } from '../../src/stores/database/connect.js';
import type { Event, NewEvent } from '../../src/outbox/event-types.js';
import type { QuotaThresholdReached } from '../../src/outbox/own-events.js';
import { addEvents, EventOutbox } from '../../src/outbox/outbox.js';
import { repeat } from '../support/counter-stores.js';
import { testDatabase } from '../support/database.js';
import { TestClock } from '../support/stores.js';
import { newDatabaseIn } from '../support/postgres.js';
import { describeOnDatabases, describeWithPostgres } from '../support/describe-with.js';

const DAY_MS = 86_400_000;

const event = (name: string, accountId = 'acc_1', used = 8): NewEvent => ({
  type: 'quota.threshold_reached',
  accountId,
  data: {
    account_id: accountId,
    api_key_id: null,
    policy: 'account-month',
    threshold_percent: 80,
    limit: 10,
    used,
    period_start: '2026-11-01T00:00:00+00:00',
    period_end: '2026-12-01T00:00:00+00:00',
    resets_at: '2026-12-01T00:00:00+00:00',
  },
  dedupeKey: name,
});

const usedIn = ({ data }: Event) => (data as QuotaThresholdReached).used;

describeOnDatabases('the event outbox', (kind) => {
  let database: DatabaseHandle;
  let clock: TestClock;
  let outbox: EventOutbox;
  beforeEach(async () => {
    database = await testDatabase(kind);
    clock = new TestClock();
    outbox = new EventOutbox(database.db, clock);
  });
  afterEach(() => database.close());

  const add = async (...events: NewEvent[]) =>
    new Set((await addEvents(database.db, events, clock.now())).events.keys());

  it('returns an event as it was added, with an ID and times', async () => {
    await add(event('one'));
    const { type, accountId, data } = event('one');
    expect((await outbox.list({ accountId, limit: 10 })).data).toEqual([
      {
        id: expect.stringMatching(/^evt_[0-9a-z]{25}$/),
        type,
        accountId,
        data,
        source: 'trailgate',
        resource: null,
        occurredAt: clock.now(),
        createdAt: clock.now(),
      },
    ]);
  });

  it('reports which events are new, and keeps the first event of a deduplication key', async () => {
    expect(await add(event('one'), event('two'))).toEqual(new Set(['one', 'two']));
    expect(await add(event('two', 'acc_1', 9), event('three'))).toEqual(new Set(['three']));
    const { data } = await outbox.list({ accountId: 'acc_1', limit: 10 });
    expect(data.map(usedIn)).toEqual([8, 8, 8]);
  });

  it('adds each of 1,200 events once when four callers add them concurrently', async () => {
    const many = repeat(1_200, (index) => event(`event ${index}`));
    const added = await Promise.all(repeat(4, (turn) => add(...(turn % 2 === 0 ? many : many.toReversed()))));
    expect(added.reduce((sum, keys) => sum + keys.size, 0)).toBe(1_200);
    expect(new Set(added.flatMap((keys) => [...keys])).size).toBe(1_200);
  });

  it('keeps the order of events that were added together', async () => {
    await add(...['c', 'a', 'd', 'b'].map((name, index) => event(name, 'acc_1', index)));
    const { data } = await outbox.list({ accountId: 'acc_1', limit: 10 });
    expect(data.map(usedIn)).toEqual([3, 2, 1, 0]);
  });

  it('adds no events of a transaction that is rolled back', async () => {
    const change = database.db.transaction().execute(async (trx) => {
      await addEvents(trx, [event('one')], clock.now());
      throw new Error('the change failed');
    });
    await expect(change).rejects.toThrow('the change failed');
    expect((await outbox.list({ accountId: 'acc_1', limit: 10 })).data).toEqual([]);
    expect(await add(event('one'))).toEqual(new Set(['one']));
  });

  it('lists the events of one account in pages, newest first', async () => {
    for (let index = 0; index < 5; index++) {
      await add(event(`mine ${index}`, 'acc_1', index), event(`other ${index}`, 'acc_2'));
    }
    const used: number[] = [];
    let cursor: string | undefined;
    do {
      const page = await outbox.list({ accountId: 'acc_1', limit: 2, cursor });
      used.push(...page.data.map(usedIn));
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
    expect(used).toEqual([4, 3, 2, 1, 0]);
    const { nextCursor } = await outbox.list({ accountId: 'acc_2', limit: 2 });
    await expect(outbox.list({ accountId: 'acc_1', limit: 2, cursor: nextCursor ?? '' })).rejects.toMatchObject({
      code: 'invalid_cursor',
    });
  });

  it('filters by creation time, also for events that were added after the clock went back', async () => {
    const start = clock.now();
    for (const [index, step] of [0, 1, 1, -2, 3].entries()) {
      clock.advance(step);
      await add(event(`event ${index}`, 'acc_1', index));
    }
    const usedSince = async (sinceMs: number, untilMs?: number) =>
      (await outbox.list({ accountId: 'acc_1', limit: 10, sinceMs, untilMs })).data.map(usedIn);
    expect(await usedSince(start)).toEqual([4, 3, 2, 1, 0]);
    expect(await usedSince(start + 1)).toEqual([4, 2, 1]);
    expect(await usedSince(start, start)).toEqual([3, 0]);
    expect(await usedSince(start + 4)).toEqual([]);
    expect(await usedSince(-1)).toEqual([4, 3, 2, 1, 0]);
  });

  it('deletes events older than ninety days', async () => {
    await add(event('old'));
    clock.advance(DAY_MS);
    await add(event('new'));
    clock.advance(89 * DAY_MS + 1);
    await outbox.deleteOld();
    expect(await add(event('old'), event('new'))).toEqual(new Set(['old']));
  });
});

describeWithPostgres('the event outbox with a collation', () => {
  // Offsets in the order of the alphabet of IDs, whose time ends with `t` and `z`, `ch` and `cj`, or `aa` and `ab`.
  it.each([
    ['et', 28, 31],
    ['cs', 12 * 32 + 17, 12 * 32 + 18],
    ['da', 10 * 32 + 10, 10 * 32 + 11],
    ['en', 28, 31],
  ])('%s lists all events since a time', async (locale, since, at) => {
    const created = await newDatabaseIn(locale);
    const database = await openDatabase({ databaseUrl: created.url, dataDir: '' });
    const start = 32 * 32 * Math.ceil(Date.parse('2100-01-01T00:00:00Z') / (32 * 32));
    await addEvents(database.db, [event(locale)], start + at);
    const outbox = new EventOutbox(database.db, new TestClock());
    const { data } = await outbox.list({ accountId: 'acc_1', limit: 10, sinceMs: start + since });
    expect(data).toHaveLength(1);
    await database.close();
    await created.drop();
  });
});
