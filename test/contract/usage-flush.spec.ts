/**
 * Usage and counts reach the database exactly once, even with failed writes and lost responses. Runs on SQLite and
 * PostgreSQL.
 */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { pino } from 'pino';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { MonthLedger } from '../../src/quota/usage/month-ledger.js';
import { ProcessCounters } from '../../src/quota/process/process-counters.js';
import { IN_FLIGHT, SUCCESS, type CountedRequest } from '../../src/quota/model/usage-cell.js';
import { UsageFlush } from '../../src/quota/usage/usage-flush.js';
import { UsageRecorder } from '../../src/quota/usage/usage-recorder.js';
import { UsageTable } from '../../src/quota/usage/usage-table.js';
import { METRICS } from '../../src/platform/metrics.js';
import { testDatabase } from '../support/database.js';
import { quietMsSince } from '../support/machine-time.js';
import { subjectWith } from '../support/quotas.js';
import { TestClock } from '../support/stores.js';
import { describeOnDatabases } from '../support/describe-with.js';

const LOG = pino({ level: 'silent' });
const OPERATION = { index: 0, id: 'list', method: 'GET', template: '/', service: 's', scopes: [], cost: 1 };

/** Simulates a network: fails a write before it begins, or loses the response after the commit. */
class UnreliableTable extends UsageTable {
  failBefore = 0;
  failAfter = 0;

  /** Called while a batch is being written. */
  meanwhile: () => Promise<void> = async () => undefined;

  readonly writtenAtMs: number[] = [];

  override async write(...args: Parameters<UsageTable['write']>): Promise<void> {
    this.writtenAtMs.push(performance.now());
    if (this.failBefore-- > 0) throw new Error('not sent');
    await this.meanwhile();
    await super.write(...args);
    if (this.failAfter-- > 0) throw new Error('answer lost');
  }
}

/** Wires a process with its own counters, recorder and flush. */
class Node {
  readonly recorder: UsageRecorder;
  readonly table: UnreliableTable;
  readonly flush: UsageFlush;
  private readonly ledger: MonthLedger;
  private readonly counters: ProcessCounters;

  constructor(database: DatabaseHandle, clock: TestClock, isShared = false) {
    this.ledger = new MonthLedger(database.db, clock);
    this.counters = new ProcessCounters(clock, this.ledger);
    this.recorder = new UsageRecorder(clock);
    this.table = new UnreliableTable(database.db, database.kind, isShared);
    this.flush = new UsageFlush(this.table, this.ledger, this.recorder, clock, LOG, { isShared, exact: this.counters });
  }

  async begin(subject = subjectWith({})): Promise<CountedRequest> {
    const request = { usage: undefined, usageCost: 0, completion: IN_FLIGHT, usageRefunded: false };
    const decision = await this.counters.decide(subject, 1);
    this.ledger.markChanged(subject, decision);
    this.recorder.recordDecision(request, subject, OPERATION, decision);
    return request;
  }

  async serve(requests: number, subject = subjectWith({})): Promise<void> {
    for (let index = 0; index < requests; index++) this.recorder.recordEnd(await this.begin(subject), SUCCESS);
  }
}

describeOnDatabases('the usage table', (kind) => {
  let database: DatabaseHandle;
  let clock: TestClock;
  let node: Node;
  beforeEach(async () => {
    database = await testDatabase(kind);
    clock = new TestClock(Date.parse('2026-11-20T10:00:00Z'));
    node = new Node(database, clock);
  });
  afterEach(() => database.close());

  const usage = async (): Promise<Record<string, number[]>> => {
    const { rows } = await sql<{ outcome: string; requests: number; cost: number }>`
      select outcome, sum(requests) as requests, sum(cost) as cost from usage_daily group by outcome
      union all select 'in_flight', sum(requests), sum(cost) from usage_in_flight having count(*) > 0
    `.execute(database.db);
    return Object.fromEntries(rows.map((row) => [row.outcome, [Number(row.requests), Number(row.cost)]]));
  };
  const counted = async (): Promise<number> => {
    const rows = await database.db.selectFrom('quota_counter').select('used').where('api_key_id', '=', '').execute();
    return rows.reduce((sum, { used }) => sum + used, 0);
  };
  const sum = async (): Promise<number> =>
    Object.values(await usage()).reduce((total, [, cost = 0]) => total + cost, 0);

  it('has a row for each key, operation, day, month and outcome, and the counters match', async () => {
    await node.serve(3);
    await node.flush.flush();
    await node.serve(2);
    await node.flush.flush();
    expect(await database.db.selectFrom('usage_daily').selectAll().execute()).toEqual([
      {
        account_id: 'acc_1',
        day: 20_261_120,
        api_key_id: 'key_1',
        operation: 'list',
        period: 20_261_101,
        outcome: 'success',
        requests: 5,
        cost: 5,
        updated_at: clock.now(),
      },
    ]);
    expect(await counted()).toBe(5);
  });

  it('writes failed batches and later usage once, after failed writes', async () => {
    node.table.failBefore = 2;
    await node.serve(3);
    await expect(node.flush.flush()).rejects.toThrow('not sent');
    await node.serve(4);
    await expect(node.flush.flush()).rejects.toThrow('not sent');
    expect(await usage()).toEqual({});
    await node.flush.flush();
    expect(await usage()).toEqual({ success: [7, 7] });
    expect(await counted()).toBe(7);
  });

  it('does not double a write whose response was lost', async () => {
    node.table.failAfter = 3;
    await node.serve(3);
    await expect(node.flush.flush()).rejects.toThrow('answer lost');
    await node.serve(4);
    await expect(node.flush.flush()).rejects.toThrow('answer lost');
    await expect(node.flush.flush()).rejects.toThrow('answer lost');
    await node.flush.flush();
    expect(await usage()).toEqual({ success: [7, 7] });
    expect(await counted()).toBe(7);
  });

  it('is written in several steps over time', async () => {
    for (let index = 0; index < 400; index++) await node.serve(1, subjectWith({}, { accountId: `acc_${index}` }));
    node.flush.start(1_500);
    while ((await counted()) < 400) await new Promise((resolve) => setTimeout(resolve, 20));
    const { writtenAtMs } = node.table;
    expect(writtenAtMs.length).toBeGreaterThan(4);
    expect(writtenAtMs.at(-1)! - writtenAtMs[0]!).toBeGreaterThan(150);
    await node.flush.stop();
    expect(await usage()).toEqual({ success: [400, 400] });
  });

  it('is written without pauses when the process ends', async () => {
    for (let index = 0; index < 400; index++) await node.serve(1, subjectWith({}, { accountId: `acc_${index}` }));
    node.flush.start(600_000);
    const startMs = performance.now();
    await node.flush.stop();
    expect(quietMsSince(startMs)).toBeLessThan(20_000);
    expect(await usage()).toEqual({ success: [400, 400] });
    expect(await counted()).toBe(400);
  });

  it('is written together with the counts or not at all', async () => {
    await node.serve(3);
    await node.flush.flush();
    await sql`alter table quota_counter rename to away`.execute(database.db);
    await node.serve(4);
    await expect(node.flush.flush()).rejects.toThrow(/quota_counter/);
    expect(await usage()).toEqual({ success: [3, 3] });
    await sql`alter table away rename to quota_counter`.execute(database.db);
    await node.flush.flush();
    expect(await usage()).toEqual({ success: [7, 7] });
    expect(await counted()).toBe(7);
  });

  it('agrees with the counters at every flush, including requests in flight', async () => {
    const running = [await node.begin(), await node.begin()];
    await node.serve(3);
    await node.flush.flush();
    expect(await usage()).toEqual({ success: [3, 3], in_flight: [2, 2] });
    expect(await counted()).toBe(5);
    for (const request of running) node.recorder.recordEnd(request, SUCCESS);
    await node.flush.flush();
    expect(await usage()).toEqual({ success: [5, 5] });
    expect(await counted()).toBe(5);
  });

  it('marks in-flight requests of a killed process as unrecorded when the next one starts', async () => {
    await node.begin();
    await node.serve(2);
    await node.flush.flush();
    await node.serve(4); // Counted, and lost with the process.
    const next = new Node(database, clock);
    await next.serve(1);
    await next.flush.flush();
    expect(await usage()).toEqual({ success: [3, 3], unrecorded: [1, 1] });
    expect(await counted()).toBe(4);
  });

  it('stays correct when a process that was considered dead writes again', async () => {
    const first = new Node(database, clock, true);
    const worker = new Node(database, clock, true);
    const running = await first.begin();
    await first.flush.flush();
    clock.advance(1_000);
    const endSilentNodes = () => worker.table.endSilentNodes(clock.now(), worker.flush.node, clock.now());
    expect(await endSilentNodes()).toEqual([first.flush.node]);
    expect(await endSilentNodes()).toEqual([]);
    expect(await usage()).toEqual({ unrecorded: [1, 1] });
    first.recorder.recordEnd(running, SUCCESS);
    await first.flush.flush();
    expect(await sum()).toBe(1);
    clock.advance(1_000);
    expect(await endSilentNodes()).toEqual([first.flush.node]);
    expect(await sum()).toBe(1);
    expect(await usage()).toMatchObject({ success: [1, 1] });
  });

  it('ends the in-flight requests of a dead process once, even with four sweeps at once', async () => {
    const gone = new Node(database, clock, true);
    for (let index = 0; index < 5; index++) await gone.begin();
    await gone.flush.flush();
    clock.advance(1_000);
    const workers = Array.from({ length: 4 }, () => new Node(database, clock, true));
    await Promise.all(workers.map(({ table, flush }) => table.endSilentNodes(clock.now(), flush.node, clock.now())));
    expect(await usage()).toEqual({ unrecorded: [5, 5] });
  });

  it('adds up concurrent writes of several processes', async () => {
    const nodes = Array.from({ length: 4 }, () => new Node(database, clock, true));
    for (let round = 0; round < 5; round++) {
      for (const each of nodes) {
        await each.serve(2);
        await each.serve(1, subjectWith({}, { keyId: 'key_2' }));
        await each.serve(1, subjectWith({}, { accountId: 'acc_2' }));
      }
      await Promise.all(nodes.map(({ flush }) => flush.flush()));
    }
    expect(await usage()).toEqual({ success: [80, 80] });
  });

  it('accepts thousands of keys in batches of whole accounts', async () => {
    for (let account = 0; account < 3; account++) {
      for (let key = 0; key < 1_500; key++) {
        await node.serve(1, subjectWith({}, { accountId: `acc_${account}`, keyId: `key_${account}_${key}` }));
      }
    }
    await node.flush.flush();
    expect(await usage()).toEqual({ success: [4_500, 4_500] });
    expect(await counted()).toBe(4_500);
    const { batch } = await database.db.selectFrom('usage_node').select('batch').executeTakeFirstOrThrow();
    expect(batch).toBe(1_000_003);
  });

  it('reports the age of the oldest unwritten change, even with usage during a flush', async () => {
    const lagSeconds = () => {
      node.flush.readGauges();
      return METRICS.usageFlushLag.series().value;
    };
    // Each account fills a batch. The first account gets more usage while the second batch is written.
    const keysOf = (accountId: string) =>
      Array.from({ length: 1_100 }, (_, key) => subjectWith({}, { accountId, keyId: `key_${accountId}_${key}` }));
    const accounts = ['acc_1', 'acc_2'].map(keysOf);
    node.table.meanwhile = () => node.serve(1, accounts[0]?.[0]);
    for (let round = 0; round < 3; round++) {
      for (const subject of accounts.flat()) await node.serve(1, subject);
      clock.advance(60_000);
      await node.flush.flush();
    }
    expect(lagSeconds()).toBe(0);
    clock.advance(7_000);
    expect(lagSeconds()).toBe(7);
    node.table.failBefore = 3;
    await node.flush.flush().catch(() => undefined);
    clock.advance(3_000);
    expect(lagSeconds()).toBe(10);
  });

  it('keeps the latest observation of a shared counter, or the higher of two simultaneous ones', async () => {
    const { table } = new Node(database, clock, true);
    const put = (used: number, observedAtMs: number, nowMs = 5_000) =>
      table.putCounters(database.db, [{ accountId: 'acc_1', keyId: '', month: 20_261_101, used, observedAtMs }], nowMs);
    await put(10, 1_000);
    await put(9, 2_000); // One request was refunded.
    expect(await counted()).toBe(9);
    await put(8, 1_500); // An older observation arrives late.
    expect(await counted()).toBe(9);
    await put(12, 2_000);
    expect(await counted()).toBe(12);
    await put(11, 2_000);
    expect(await counted()).toBe(12);
    // A count observed before a refund does not win, even if it is higher and arrives later.
    await put(20, 1_999.999);
    expect(await counted()).toBe(12);
    await put(11, 2_000.001);
    expect(await counted()).toBe(11);
    await put(12, 2_000);
    expect(await counted()).toBe(11);
    // The clock was set back by an hour. The later write wins despite its earlier time.
    await put(13, 3_600_000, 3_600_000);
    await put(14, 6_000, 6_000);
    expect(await counted()).toBe(14);
  });
});
