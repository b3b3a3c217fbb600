/** Month counts reach the database once and completely, even after failed flushes. Uses a real SQLite. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { pino } from 'pino';
import { testDatabase } from '../support/database.js';
import { countsWith, countsByWindow, type SubjectOptions, subjectWith, UTC_MONTHS } from '../support/quotas.js';
import { TestClock } from '../support/stores.js';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { MonthLedger } from '../../src/quota/usage/month-ledger.js';
import { monthPeriodAt } from '../../src/quota/model/month-period.js';
import type { QuotaSubject } from '../../src/quota/model/subject.js';
import { ProcessCounters } from '../../src/quota/process/process-counters.js';
import { UsageFlush } from '../../src/quota/usage/usage-flush.js';
import { UsageRecorder } from '../../src/quota/usage/usage-recorder.js';
import { UsageTable, type CounterRow } from '../../src/quota/usage/usage-table.js';

const LOG = pino({ level: 'silent' });
const NOW_MS = Date.parse('2026-11-20T10:00:00Z');

/** Wires a process: its counters, and the ledger that writes them. */
class Node {
  readonly ledger: MonthLedger;
  readonly flush: UsageFlush;
  readonly counters: ProcessCounters;

  constructor(
    database: DatabaseHandle,
    clock: TestClock,
    private readonly exact = true,
  ) {
    this.ledger = new MonthLedger(database.db, clock);
    this.counters = new ProcessCounters(clock, this.ledger);
    const table = new UsageTable(database.db, database.kind, !exact);
    const options = exact ? { isShared: false, exact: this.counters } : { isShared: true };
    this.flush = new UsageFlush(table, this.ledger, new UsageRecorder(clock), clock, LOG, options);
  }

  /** Counts requests as the limiter does. */
  async count(subject: QuotaSubject, requests: number): Promise<void> {
    for (let request = 0; request < requests; request++) {
      const decision = await this.counters.decide(subject, 1);
      if (!this.exact && subject.lastSeenMonth !== decision.period.label) this.ledger.keepEndedMonth(subject);
      subject.recordSeen(decision.used, decision.nowMs, decision.period);
      if (decision.admitted) this.ledger.markChanged(subject, decision);
    }
  }
}

describe('the month ledger', () => {
  let database: DatabaseHandle;
  let clock: TestClock;
  beforeEach(async () => {
    database = await testDatabase('sqlite');
    clock = new TestClock(NOW_MS);
  });
  afterEach(() => database.close());

  const written = async (): Promise<Record<string, number>> => {
    const rows = await database.db.selectFrom('quota_counter').selectAll().execute();
    return Object.fromEntries(rows.map((row) => [`${row.account_id}/${row.api_key_id}/${row.period}`, row.used]));
  };
  const at = (month: string, accountId = 'acc_1', keyId = ''): string =>
    `${accountId}/${keyId}/${month.replaceAll('-', '')}01`;
  const subject = (options: SubjectOptions = {}) => subjectWith({}, options);
  const rename = (from: string, to: string) => sql.raw(`alter table ${from} rename to ${to}`).execute(database.db);

  it('writes the counts of account and keys, and a restarted process reads them', async () => {
    const node = new Node(database, clock);
    await node.count(subject(), 7);
    await node.count(subject({ keyId: 'key_2' }), 5);
    await node.flush.flush();
    expect(await written()).toEqual({
      [at('2026-11')]: 12,
      [at('2026-11', 'acc_1', 'key_1')]: 7,
      [at('2026-11', 'acc_1', 'key_2')]: 5,
    });
    const restarted = new Node(database, clock);
    expect(countsByWindow((await restarted.counters.read('acc_1', 'key_1', UTC_MONTHS)).used)).toEqual({
      keyMinute: 0,
      accountMinute: 0,
      accountMonth: 12,
      keyMonth: 7,
      accountDay: 12,
      keyDay: 7,
    });
  });

  it('writes the day count, which a restart on that day continues and one on the next day does not', async () => {
    const node = new Node(database, clock);
    await node.count(subject(), 7);
    clock.advance(24 * 3_600_000);
    await node.count(subject(), 5);
    await node.flush.flush();
    const dayOf = async () => {
      const restarted = new Node(database, clock);
      const { used } = await restarted.counters.read('acc_1', 'key_1', UTC_MONTHS);
      const { accountDay, keyDay, accountMonth } = countsByWindow(used);
      return { accountDay, keyDay, accountMonth };
    };
    expect(await dayOf()).toEqual({ accountDay: 5, keyDay: 5, accountMonth: 12 });
    clock.advance(24 * 3_600_000);
    expect(await dayOf()).toEqual({ accountDay: 0, keyDay: 0, accountMonth: 12 });
  });

  it('neither loses nor doubles a count after failed flushes', async () => {
    const node = new Node(database, clock);
    const key = subject();
    await node.count(key, 3);
    await rename('quota_counter', 'away');
    await expect(node.flush.flush()).rejects.toThrow('no such table');
    await node.count(key, 2);
    await expect(node.flush.flush()).rejects.toThrow('no such table');
    await rename('away', 'quota_counter');
    await node.flush.flush();
    expect((await written())[at('2026-11')]).toBe(5);
    await node.flush.flush();
    expect((await written())[at('2026-11')]).toBe(5);
  });

  it('writes requests counted during a flush with the next flush', async () => {
    const node = new Node(database, clock);
    const key = subject();
    await node.count(key, 1);
    const flushing = node.flush.flush();
    await node.count(key, 4);
    await flushing;
    await node.flush.flush();
    expect((await written())[at('2026-11')]).toBe(5);
  });

  it('does not write unchanged counts again', async () => {
    const node = new Node(database, clock);
    await node.count(subject(), 1);
    await node.flush.flush();
    await database.db.deleteFrom('quota_counter').execute();
    await node.flush.flush();
    expect(await written()).toEqual({});
  });

  it('writes the remaining counts when it stops', async () => {
    const node = new Node(database, clock);
    node.flush.start(60_000);
    await node.count(subject(), 6);
    await node.flush.stop();
    expect((await written())[at('2026-11')]).toBe(6);
  });

  it('reports an error when it stops and the last counts cannot be written', async () => {
    const node = new Node(database, clock);
    await node.count(subject(), 6);
    await rename('quota_counter', 'away');
    await expect(node.flush.stop()).rejects.toThrow('no such table');
  });

  it('writes a key whose month changed while it waited only in its current month', async () => {
    const ledger = new MonthLedger(database.db, clock);
    const [key, other] = [subject(), subject({ keyId: 'key_2' })];
    const [november, december] = [monthPeriodAt(NOW_MS), monthPeriodAt(NOW_MS + 31 * 86_400_000)];
    const counts = { accountMonth: 7, keyMonth: 3 };
    for (const used of [other, key]) ledger.markChanged(used, { period: november });
    ledger.markChanged(key, { period: december });
    key.recordSeen(countsWith(counts), december.startMs, december);
    other.recordSeen(countsWith({ ...counts, keyMonth: 4 }), november.endMs - 1, november);
    const rows: CounterRow[] = [];
    ledger.takeAccount('acc_1', rows, []);
    expect(rows.map(({ keyId, month, used }) => [keyId, month, used])).toEqual([
      ['', november.label, 7],
      ['key_2', november.label, 4],
      ['', december.label, 7],
      ['key_1', december.label, 3],
    ]);
    expect(ledger.waitingAccounts()).toEqual([]);
  });

  it('keeps the highest count when nodes with shared counters flush in any order', async () => {
    const period = monthPeriodAt(NOW_MS);
    const seen = async (used: number): Promise<Node> => {
      const node = new Node(database, clock, false);
      const key = subject();
      await node.count(key, 1);
      key.recordSeen(countsWith({ accountMonth: used, keyMonth: used }), key.lastSeenAtMs, period);
      return node;
    };
    const nodes = await Promise.all([seen(40), seen(90), seen(70)]);
    await Promise.all(nodes.map(({ flush }) => flush.flush()));
    expect((await written())[at('2026-11')]).toBe(90);
    const { account, key } = await nodes[0]!.ledger.usedInMonth('acc_1', 'key_1', period);
    expect([account.used, key.used]).toEqual([90, 90]);
  });

  it('writes a refund after a flush, if the counters are in this process', async () => {
    const node = new Node(database, clock);
    const key = subject();
    await node.count(key, 9);
    const decision = await node.counters.decide(key, 1);
    node.ledger.markChanged(key, decision);
    await node.flush.flush();
    expect((await written())[at('2026-11')]).toBe(10);
    await node.counters.refund(key, decision);
    node.ledger.markChanged(key, decision);
    await node.flush.flush();
    expect((await written())[at('2026-11')]).toBe(9);
  });

  it.each([true, false])(
    'writes the counts of both months when a new one begins between two flushes (exact: %p)',
    async (exact) => {
      const node = new Node(database, clock, exact);
      const key = subject();
      await node.count(key, 8);
      await node.flush.flush();
      clock.advance(Date.parse('2026-11-30T23:59:59Z') - clock.now());
      await node.count(key, 2);
      clock.advance(2_000);
      await node.count(key, 3);
      await node.flush.flush();
      // November includes the requests after the last flush of that month.
      expect(await written()).toEqual({
        [at('2026-11')]: 10,
        [at('2026-11', 'acc_1', 'key_1')]: 10,
        [at('2026-12')]: 3,
        [at('2026-12', 'acc_1', 'key_1')]: 3,
      });
    },
  );

  it('continues the count of a month when the clock returns from the next one', async () => {
    const node = new Node(database, clock);
    const key = subject();
    await node.count(key, 8);
    clock.advance(20 * 86_400_000);
    await node.count(key, 1);
    clock.advance(-20 * 86_400_000);
    await node.count(key, 1);
    await node.flush.flush();
    const both = await written();
    expect([both[at('2026-11')], both[at('2026-12')]]).toEqual([9, 1]);
    // A later process knows the next month only from the database.
    const later = new Node(database, clock);
    await later.count(key, 2);
    clock.advance(20 * 86_400_000);
    await later.count(key, 1);
    await later.flush.flush();
    const after = await written();
    expect([after[at('2026-11')], after[at('2026-12')]]).toEqual([11, 2]);
  });

  it('writes 1,200 keys in one flush', async () => {
    const node = new Node(database, clock);
    for (let key = 0; key < 1_200; key++) await node.count(subject({ keyId: `key_${key}` }), 1);
    await node.flush.flush();
    const rows = await written();
    expect(Object.keys(rows)).toHaveLength(1_201);
    expect(rows[at('2026-11')]).toBe(1_200);
  });

  it('returns no counts of another account, key or month', async () => {
    const node = new Node(database, clock);
    await node.count(subject(), 4);
    await node.flush.flush();
    const { ledger } = node;
    const december = monthPeriodAt(Date.parse('2026-12-05T00:00:00Z'));
    const knownOf = async (accountId: string, keyId: string | undefined, period = monthPeriodAt(NOW_MS)) => {
      const { account, key } = await ledger.usedInMonth(accountId, keyId, period);
      return [account.used, key.used];
    };
    expect(await knownOf('acc_2', 'key_1')).toEqual([0, 0]);
    expect(await knownOf('acc_1', 'key_2')).toEqual([4, 0]);
    expect(await knownOf('acc_1', undefined)).toEqual([4, 0]);
    expect(await knownOf('acc_1', 'key_1', december)).toEqual([0, 0]);
  });
});
