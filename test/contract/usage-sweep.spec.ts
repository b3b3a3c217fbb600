/**
 * The sweep finds usage that a dead process counted but did not record. It writes that usage once, and reverts it if
 * the process returns.
 */
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { sql } from 'kysely';
import { pino } from 'pino';
import type { Redis } from 'ioredis';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { systemClock } from '../../src/platform/clock.js';
import { openRedisQuotas, type Quotas } from '../../src/quota/open-quotas.js';
import type { QuotaSubject } from '../../src/quota/model/subject.js';
import { IN_FLIGHT, SUCCESS, type CountedRequest } from '../../src/quota/model/usage-cell.js';
import { sumsQuery, writeUnrecorded } from '../../src/quota/usage/usage-reconcile.js';
import { UsageSweep } from '../../src/quota/usage/usage-sweep.js';
import { UsageTable } from '../../src/quota/usage/usage-table.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabasesWithRedis } from '../support/describe-with.js';
import { eventually } from '../support/processes.js';
import { subjectWith } from '../support/quotas.js';
import { emptyRedis } from '../support/timed-redis.js';
import { sharedRedisUrl } from '../support/redis.js';

const OPERATION = { index: 0, id: 'list', method: 'GET', template: '/', service: 's', scopes: [], cost: 1 };
const LOG = pino({ level: 'silent' });
const FLUSH_MS = 15;

describeOnDatabasesWithRedis('the usage sweep', (kind) => {
  let database: DatabaseHandle;
  let client: Redis;
  const opened: Quotas[] = [];
  beforeEach(async () => {
    database = await testDatabase(kind);
    client = await emptyRedis();
    const account = {
      name: 'a',
      plan: 'p',
      time_zone: 'UTC',
      billing_day: 1,
      status: 'active' as const,
      grant_period: 0,
      grant_amount: 0,
    };
    await database.db
      .insertInto('account')
      .values({ id: 'acc_1', ...account, created_at: 0, updated_at: 0, version: 1 })
      .execute();
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((quotas) => quotas.stop()));
    client.disconnect();
    await database.close();
  });

  const openNode = async (): Promise<Quotas> => {
    const parts = { db: database.db, kind: database.kind, clock: systemClock, log: LOG, watchIntervalMs: 50 };
    const quotas = await openRedisQuotas(parts, await sharedRedisUrl());
    opened.push(quotas);
    return quotas;
  };
  const serve = async (quotas: Quotas, requests: number, subject: QuotaSubject, ends = true): Promise<void> => {
    for (let index = 0; index < requests; index++) {
      const request: CountedRequest = {
        usage: undefined,
        usageCost: 0,
        completion: IN_FLIGHT,
        usageRefunded: false,
      };
      quotas.recorder.recordDecision(request, subject, OPERATION, await quotas.limiter.decide(subject, 1));
      if (ends) quotas.recorder.recordEnd(request, SUCCESS);
    }
  };
  const sweeper = () => new UsageSweep(new UsageTable(database.db, kind, true), client, 'worker', systemClock, LOG);
  const costs = async (): Promise<Record<string, number>> => {
    const { rows } = await sql<{ outcome: string; cost: number }>`
      select outcome, sum(cost) as cost from usage_daily group by outcome having sum(cost) <> 0
    `.execute(database.db);
    return Object.fromEntries(rows.map(({ outcome, cost }) => [outcome, Number(cost)]));
  };
  const counted = async () =>
    (await database.db.selectFrom('quota_counter').select(['api_key_id', 'used']).orderBy('api_key_id').execute()).map(
      ({ used }) => used,
    );

  /** Waits until the database has counters, because a sweep checks only those. */
  const isWritten = () => eventually('the database has counters', async () => (await counted()).length > 0);

  it('writes counted but unrecorded usage once, while other processes run', async () => {
    const living = await openNode();
    living.start(FLUSH_MS);
    await serve(living, 3, subjectWith({}));
    await isWritten();
    // This node counts in Redis and never writes, like a process that dies first.
    await serve(await openNode(), 4, subjectWith({}));
    await serve(living, 1, subjectWith({}));
    const reconcile = () => sweeper().reconcile(0, FLUSH_MS);
    await reconcile();
    expect(await costs()).toEqual({ success: 4, unrecorded: 4 });
    expect(await counted()).toEqual([8, 8]);
    await Promise.all([reconcile(), reconcile(), reconcile()]);
    expect(await costs()).toEqual({ success: 4, unrecorded: 4 });
  });

  it('reverts unrecorded usage when its process records it late', async () => {
    const living = await openNode();
    living.start(FLUSH_MS);
    await serve(living, 1, subjectWith({}));
    await isWritten();
    const slow = await openNode();
    await serve(slow, 5, subjectWith({}));
    await sweeper().reconcile(0, FLUSH_MS);
    await sweeper().reconcile(0, FLUSH_MS);
    expect(await costs()).toEqual({ success: 1, unrecorded: 5 });
    slow.start(FLUSH_MS);
    await sweeper().reconcile(0, FLUSH_MS);
    await sweeper().reconcile(0, FLUSH_MS);
    expect(await costs()).toEqual({ success: 6 });
  });

  it('treats no usage of live processes as unrecorded, even with long requests', async () => {
    const living = await openNode();
    living.start(FLUSH_MS);
    await serve(living, 2, subjectWith({}));
    await isWritten();
    await serve(living, 3, subjectWith({}), false);
    for (let round = 0; round < 5; round++) {
      const busy = serve(living, 40, subjectWith({}));
      await sweeper().reconcile(0, FLUSH_MS);
      await busy;
    }
    await eventually('all usage is written', async () => (await costs())['success'] === 202);
    expect(await costs()).toEqual({ success: 202 });
  });

  it('does not change the unrecorded usage of a count that an operator has set since', async () => {
    const living = await openNode();
    living.start(FLUSH_MS);
    await serve(living, 1, subjectWith({}));
    await isWritten();
    await serve(await openNode(), 4, subjectWith({}));
    await sweeper().reconcile(0, FLUSH_MS);
    await database.db
      .updateTable('quota_counter')
      .set({ set_at: systemClock.now() + 60_000 })
      .execute();
    await serve(living, 1, subjectWith({}));
    await sweeper().reconcile(0, FLUSH_MS);
    expect(await costs()).toMatchObject({ unrecorded: 4 });
  });

  it('waits for processes with a long flush interval', async () => {
    const seldomMs = 150;
    const living = await openNode();
    living.start(seldomMs);
    await serve(living, 1, subjectWith({}));
    await isWritten();
    await serve(await openNode(), 2, subjectWith({}));
    const impatient = new UsageSweep(new UsageTable(database.db, kind, true), client, 'w', systemClock, LOG, 50);
    expect(await impatient.reconcile(0, seldomMs)).toBe(true);
    expect(await costs()).toEqual({ success: 1, unrecorded: 2 });
  });

  it('ends at once when it is stopped, even with a long flush interval', async () => {
    const hourMs = 3_600_000;
    const living = await openNode();
    living.start(FLUSH_MS);
    await serve(living, 1, subjectWith({}));
    await isWritten();
    const table = new UsageTable(database.db, kind, true);
    const asked = jest.spyOn(table, 'readRounds');
    const stopped = new UsageSweep(table, client, 'worker', systemClock, LOG);
    const reconciling = stopped.reconcile(0, hourMs);
    await eventually('the sweep queries what each process has written', () => asked.mock.calls.length > 0);
    // After this query, the sweep sleeps for half an hour.
    await asked.mock.results[0]?.value;
    await new Promise((resolve) => setImmediate(resolve));
    await stopped.stop();
    expect(await reconciling).toBe(false);
    expect(asked).toHaveBeenCalledTimes(1);
  });

  it.each([
    ['ends, on that day', '2026-11-12T10:00:00Z', 20_261_112],
    ['has ended, on its last day', '2026-12-20T10:00:00Z', 20_261_214],
    ['began by another time zone or clock, on its first day', '2026-11-14T10:00:00Z', 20_261_115],
  ])('writes what it finds when the month %s, and only once', async (_when, now, day) => {
    const month = day === 20_261_112 ? 20_261_015 : 20_261_115;
    const nowMs = Date.parse(now);
    const counter = { accountId: 'acc_1', keyId: 'key_1', month, used: 5, observedAtMs: nowMs };
    await database.db.updateTable('account').set({ billing_day: 15 }).execute();
    await new UsageTable(database.db, kind, true).putCounters(database.db, [counter], nowMs);
    for (let time = 0; time < 2; time++) await writeUnrecorded(database.db, kind, [counter], nowMs);
    const rows = await database.db.selectFrom('usage_daily').select(['day', 'period', 'cost']).execute();
    expect(rows).toEqual([{ day, period: month, cost: 5 }]);
  });

  it('counts nothing twice after the billing day was moved back', async () => {
    const living = await openNode();
    living.start(FLUSH_MS);
    const today = new Date(systemClock.now()).getUTCDate();
    const before = subjectWith({}, { billingDay: today });
    const after = subjectWith({}, { billingDay: today === 1 ? 15 : 1 });
    await serve(living, 3, before);
    await isWritten();
    await database.db.updateTable('account').set({ billing_day: after.calendar.billingDay }).execute();
    // The current count keeps its label. New requests belong to the month of the new calendar.
    await serve(living, 4, after);
    await sweeper().reconcile(0, FLUSH_MS);
    await sweeper().reconcile(0, FLUSH_MS);
    expect(await costs()).toEqual({ success: 7 });
    // The sweep still finds unrecorded usage after the billing day was moved back again.
    await serve(await openNode(), 5, subjectWith({}, { billingDay: after.calendar.billingDay }));
    await database.db.updateTable('account').set({ billing_day: before.calendar.billingDay }).execute();
    await serve(living, 1, before);
    await sweeper().reconcile(0, FLUSH_MS);
    expect(await costs()).toEqual({ success: 8, unrecorded: 5 });
  });
});

describe('the recorded usage of a counter', () => {
  it('is read with an index, only for its account', async () => {
    const { db, close } = await testDatabase('sqlite');
    const query = sumsQuery('sqlite', [{ accountId: 'acc_1', keyId: 'key_1', month: 20_261_101 }]);
    const plan = (await sql<{ detail: string }>`explain query plan ${query}`.execute(db)).rows;
    const ofUsage = plan.map(({ detail }) => detail).filter((detail) => /usage_(daily|in_flight)/.test(detail));
    expect(ofUsage).toEqual([
      expect.stringMatching(/^SEARCH usage_daily .*\(account_id=\? AND day>\?\)$/),
      expect.stringMatching(/^SEARCH usage_in_flight .*account_id=\?/),
    ]);
    await close();
  });
});
