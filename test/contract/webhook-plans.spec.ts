/** Every statement of a worker uses an index, even with many pending deliveries. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { CompiledQuery, sql, type Kysely, type QueryId, type RootOperationNode } from 'kysely';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import type { Tables } from '../../src/stores/database/schema.js';
import { writeResults } from '../../src/webhooks/deliveries/rows/delivery-results.js';
import { readBacklog } from '../../src/webhooks/deliveries/rows/backlog.js';
import { DeliveryRetention } from '../../src/webhooks/deliveries/rows/retention.js';
import { LaneScan } from '../../src/webhooks/deliveries/rows/lane-scan.js';
import { Lanes } from '../../src/webhooks/deliveries/rows/lanes.js';
import { WorkSignal } from '../../src/outbox/work-signal.js';
import { DeliveryReader } from '../../src/webhooks/management/delivery-reader.js';
import { EventOutbox } from '../../src/outbox/outbox.js';
import { Replays } from '../../src/webhooks/management/replays.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { TestClock } from '../support/stores.js';
import { attemptOf, dueOf } from '../support/webhooks.js';

/** Number of deliveries. TRAILGATE_TEST_ROWS=1000000 takes minutes longer and gives the same plans. */
const ROWS = Number(process.env['TRAILGATE_TEST_ROWS'] ?? 50_000);
const ROWS_AT_ONCE = 50_000;
const ENDPOINTS = 250;
const FILL_TIMEOUT_MS = 900_000;
const OPERATOR = { actor: 'operator', ip: '127.0.0.1', requestId: 'req_1' };

describeOnDatabases(`${ROWS.toLocaleString('en')} pending deliveries`, (kind) => {
  let database: DatabaseHandle;
  const clock = new TestClock();
  const now = clock.now();
  beforeAll(async () => {
    database = await testDatabase(kind);
    const { db } = database;
    const numbers = (from: number, to: number) =>
      kind === 'postgres'
        ? sql`(select i from generate_series(${sql.lit(from)}, ${sql.lit(to)}) as i) as n`
        : sql`(with recursive s(i) as (select ${sql.lit(from)} union all select i + 1 from s where i < ${sql.lit(to)})
            select i from s) as n`;
    const endpoint = sql`'whe_' || substr('0000' || (i % ${sql.lit(ENDPOINTS)}), -4)`;
    const id = kind === 'postgres' ? sql`'whe_' || lpad((i % ${sql.lit(ENDPOINTS)})::text, 4, '0')` : endpoint;
    await sql`insert into account (id, name, plan, time_zone, billing_day, status, grant_period, grant_amount,
      created_at, updated_at, version) values ('acc_1', 'A', 'starter', 'UTC', 1, 'active', 0, 0, 1, 1, 1)`.execute(db);
    await sql`insert into webhook_endpoint (id, account_id, url, description, event_types, ordered, status,
        status_changed_at, version, created_at, updated_at)
      select ${id}, 'acc_1', 'https://r.example/', '', '[]', 0, 'enabled', 1, 1, 1, 1
      from ${numbers(0, ENDPOINTS - 1)}`.execute(db);
    await sql`insert into webhook_lane select id, ${sql.lit(now)}, null, 0 from webhook_endpoint`.execute(db);
    for (let from = 0; from < ROWS; from += ROWS_AT_ONCE) {
      await sql`insert into webhook_delivery (id, event_id, endpoint_id, account_id, state, due_at, kind, created_at,
          updated_at, keep_until)
        select 'whd_' || (10000000 + i), 'evt_' || i, ${id}, 'acc_1', 'pending', ${sql.lit(now)} - i % 2000, 'event', 1, 1,
          ${sql.lit(now + 1000)} from ${numbers(from, from + ROWS_AT_ONCE - 1)}`.execute(db);
      await sql`insert into event (id, account_id, type, data, dedupe_key, occurred_at, created_at, keep_until)
        select 'evt_' || i, 'acc_1', 'customer.created', '{}', 'svc:a:' || i, 1, 1, ${sql.lit(now + 1000)} + i
        from ${numbers(from, from + ROWS_AT_ONCE - 1)}`.execute(db);
    }
    await sql`analyze`.execute(db);
  }, FILL_TIMEOUT_MS);
  afterAll(() => database.close());

  /** Returns the query plans of the statements that a function executes on these tables, as text. */
  async function plansOf(run: (db: Kysely<Tables>) => Promise<unknown>): Promise<string> {
    const queries: CompiledQuery[] = [];
    const { db } = database;
    const watched = db.withPlugin({
      transformQuery: ({ node, queryId }: { node: RootOperationNode; queryId: QueryId }) => {
        queries.push(db.getExecutor().compileQuery(node, queryId));
        return node;
      },
      transformResult: async ({ result }) => result,
    });
    await run(watched);
    const explain = kind === 'postgres' ? 'explain ' : 'explain query plan ';
    const plans: string[] = [];
    for (const query of queries) {
      const { rows } = await db.executeQuery(CompiledQuery.raw(explain + query.sql, [...query.parameters]));
      plans.push(JSON.stringify(rows));
    }
    return plans.join('\n');
  }

  const due = (db: Kysely<Tables>, isOrdered = false) =>
    dueOf(db, { endpointId: 'whe_0007', except: [] }, { nowMs: now, most: 8, isOrdered });

  it.each([
    ['claim', 'webhook_lane_due_at', (db: Kysely<Tables>) => new Lanes(db, kind, clock, 'w').claim(64)],
    ['read', 'webhook_delivery_lane', (db: Kysely<Tables>) => due(db)],
    ['read in order', 'webhook_delivery_order', (db: Kysely<Tables>) => due(db, true)],
    ['scan', 'webhook_delivery_lane', (db: Kysely<Tables>) => new LaneScan(db, clock).scan()],
    [
      'results',
      kind === 'postgres' ? 'webhook_delivery_pkey' : 'sqlite_autoindex_webhook_delivery_1',
      async (db: Kysely<Tables>) => {
        const records = (await due(db)).map((each) => attemptOf(each, { state: 'succeeded' }));
        return writeResults(db, records, [], now);
      },
    ],
  ])('are not fully scanned: %s uses the index %s', async (_what, index, run) => {
    const plans = await plansOf(run);
    expect(plans).toContain(index);
    expect(plans).not.toMatch(/Seq Scan on webhook_delivery|SCAN (?:d|webhook_delivery)(?! USING)/);
  });

  it.each([
    [
      'expires and forgets deliveries',
      (db: Kysely<Tables>) => new DeliveryRetention(db, clock, new WorkSignal()).sweep(),
    ],
    ['forgets events', (db: Kysely<Tables>) => new EventOutbox(db, clock).deleteOld()],
  ])('are not fully scanned: what %s finds rows by their retention time', async (_what, run) => {
    const plans = await plansOf(run);
    expect(plans).toContain('keep_until');
    expect(plans).not.toMatch(/Seq Scan on (?:webhook_delivery|event)|SCAN (?:event|webhook_delivery)(?! USING)/);
  });

  it.each([
    ['type', 'event_type', { type: 'customer.deleted' }],
    ['resource', 'event_resource', { resource: 'cus_1' }],
    // SQLite says `id>?` for both `>` and `>=`.
    ['time', kind === 'postgres' ? 'id >= ' : 'id>?', { sinceMs: Date.parse('2990-01-01T00:00:00Z') }],
  ])('leave lists of events fast: a filter by %s reads matching events only', async (_what, index, filter) => {
    const plans = await plansOf((db) => new EventOutbox(db, clock).list({ accountId: 'acc_1', limit: 20, ...filter }));
    expect(plans).toContain(index);
    expect(plans).not.toMatch(/Sort|TEMP B-TREE|Seq Scan on event|SCAN event(?! USING)/);
  });

  it('are not fully scanned by the backlog metrics, which use indexes', async () => {
    const plans = await plansOf((db) => readBacklog(db, now));
    expect(plans).toContain('webhook_delivery_lane');
    expect(plans).toContain('webhook_delivery_held');
    expect(plans).not.toMatch(/Seq Scan on webhook_delivery|SCAN (?:d|webhook_delivery)(?! USING)/);
  });

  it.each([
    [
      'a page of what waits',
      'webhook_delivery_open',
      (db: Kysely<Tables>) => new DeliveryReader(db).list('whe_0007', { limit: 20, status: 'pending' }),
    ],
    [
      'a page of what has failed',
      'webhook_delivery_failed',
      (db: Kysely<Tables>) => new DeliveryReader(db).list('whe_0007', { limit: 20, status: 'failed' }),
    ],
    [
      'a replay of what has failed',
      'webhook_delivery_failed',
      (db: Kysely<Tables>) =>
        new Replays({ ...database, db }, clock, new WorkSignal()).replayAll('whe_0007', { status: 'failed' }, OPERATOR),
    ],
  ])('are not fully scanned: %s is read by the index %s', async (_what, index, run) => {
    // Ignores attempts and lanes. They are few, so scanning them is fine.
    const lines = (await plansOf(run)).split('\n').filter((line) => !/webhook_attempt|webhook_lane/.test(line));
    const plans = lines.join('\n');
    expect(plans).toContain(index);
    expect(plans).not.toMatch(/webhook_delivery_endpoint_id|Sort|TEMP B-TREE/);
    expect(plans).not.toMatch(/Seq Scan on webhook_delivery|SCAN (?:delivery|webhook_delivery)(?! USING)/);
  });
});
