/** Each notice of a month is in the outbox exactly once, across processes and restarts, on SQLite and PostgreSQL. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { pino } from 'pino';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import type { QuotaThresholdReached } from '../../src/outbox/own-events.js';
import { EventOutbox } from '../../src/outbox/outbox.js';
import { METRICS } from '../../src/platform/metrics.js';
import { MonthLedger } from '../../src/quota/usage/month-ledger.js';
import type { QuotaSubject } from '../../src/quota/model/subject.js';
import { ProcessCounters } from '../../src/quota/process/process-counters.js';
import { LimiterSink } from '../../src/quota/limiter-sink.js';
import { ShadowLimits } from '../../src/quota/shadow-limits.js';
import { Limiter } from '../../src/quota/limiter.js';
import { ProcessThrottleWindows } from '../../src/quota/throttle-windows.js';
import { UsageFlush } from '../../src/quota/usage/usage-flush.js';
import { UsageRecorder } from '../../src/quota/usage/usage-recorder.js';
import { UsageTable } from '../../src/quota/usage/usage-table.js';
import { repeat } from '../support/counter-stores.js';
import { testDatabase } from '../support/database.js';
import { subjectWith } from '../support/quotas.js';
import { TestClock } from '../support/stores.js';
import { describeOnDatabases } from '../support/describe-with.js';

const LOG = pino({ level: 'silent' });
const NOW_MS = Date.parse('2026-11-20T10:00:00Z');

/** A process with its own counters. */
class Node {
  readonly flush: UsageFlush;
  private readonly limiter: Limiter;

  constructor(database: DatabaseHandle, clock: TestClock) {
    const ledger = new MonthLedger(database.db, clock);
    const shadows = new ShadowLimits(clock, false);
    const sink = new LimiterSink(ledger, shadows, clock);
    const counters = new ProcessCounters(clock, ledger, 'store', undefined, sink);
    const throttles = new ProcessThrottleWindows(clock);
    this.limiter = new Limiter(counters, shadows, ledger, throttles, clock, LOG);
    const table = new UsageTable(database.db, database.kind, false);
    this.flush = new UsageFlush(table, ledger, new UsageRecorder(clock), clock, LOG, {
      isShared: false,
      exact: counters,
    });
  }

  async use(subject: QuotaSubject, requests: number): Promise<void> {
    for (let request = 0; request < requests; request++) await this.limiter.decide(subject, 1);
  }

  async useAndFlush(subject: QuotaSubject, requests: number): Promise<void> {
    await this.use(subject, requests);
    await this.flush.flush();
  }
}

describeOnDatabases('usage notices of a month', (kind) => {
  let database: DatabaseHandle;
  let clock: TestClock;
  beforeEach(async () => {
    database = await testDatabase(kind);
    clock = new TestClock(NOW_MS);
  });
  afterEach(() => database.close());

  const notices = async (accountId = 'acc_1') =>
    (await new EventOutbox(database.db, clock).list({ accountId, limit: 100 })).data
      .map(({ data }) => data as QuotaThresholdReached)
      .map((data) => `${data.policy} ${data.threshold_percent} % at ${data.used} of ${data.limit}`)
      .toSorted();
  const limited = (accountMonth: number, keyId = 'key_1') => subjectWith({ accountMonth }, { keyId });

  it('are added by the flush after 80 and after 100 percent, and only once', async () => {
    const node = new Node(database, clock);
    const subject = limited(100);
    await node.useAndFlush(subject, 79);
    expect(await notices()).toEqual([]);
    await node.useAndFlush(subject, 1);
    expect(await notices()).toEqual(['account-month 80 % at 80 of 100']);
    await node.useAndFlush(subject, 10);
    await node.useAndFlush(subject, 10);
    await node.useAndFlush(subject, 10);
    expect(await notices()).toEqual(['account-month 100 % at 100 of 100', 'account-month 80 % at 80 of 100']);
  });

  it('are both added when usage passes both thresholds between flushes, for key and account', async () => {
    const node = new Node(database, clock);
    await node.useAndFlush(subjectWith({ accountMonth: 20, keyMonth: 10 }), 30);
    expect(await notices()).toEqual(['key-month 100 % at 10 of 10', 'key-month 80 % at 10 of 10']);
    await node.useAndFlush(subjectWith({ accountMonth: 20, keyMonth: 10 }, { keyId: 'key_2' }), 7);
    expect(await notices()).toEqual([
      'account-month 80 % at 17 of 20',
      'key-month 100 % at 10 of 10',
      'key-month 80 % at 10 of 10',
    ]);
  });

  it('are added once for several keys of an account, even after a restart', async () => {
    const node = new Node(database, clock);
    const keys = repeat(5, (index) => limited(50, `key_${index}`));
    for (const key of keys) await node.use(key, 9);
    await node.flush.flush();
    expect(await notices()).toEqual(['account-month 80 % at 45 of 50']);
    const restarted = new Node(database, clock);
    await restarted.useAndFlush(limited(50), 1);
    await restarted.useAndFlush(limited(50, 'key_3'), 1);
    expect(await notices()).toHaveLength(1);
  });

  it('are added and counted once by six processes that flush concurrently', async () => {
    const before = METRICS.quotaNotices.series('account-month', 80).value;
    const nodes = repeat(6, () => new Node(database, clock));
    const accounts = repeat(40, (index) => `acc_${index}`);
    for (const node of nodes) {
      for (const accountId of accounts) await node.use(subjectWith({ accountMonth: 10 }, { accountId }), 8);
    }
    await Promise.all(nodes.map(({ flush }) => flush.flush()));
    for (const accountId of accounts) expect(await notices(accountId)).toEqual(['account-month 80 % at 8 of 10']);
    expect(METRICS.quotaNotices.series('account-month', 80).value - before).toBe(accounts.length);
  });

  it('are added by the next flush after one that failed', async () => {
    const node = new Node(database, clock);
    const subject = limited(10);
    await node.use(subject, 8);
    await sql`alter table event rename to away`.execute(database.db);
    await expect(node.flush.flush()).rejects.toThrow(/event/);
    await sql`alter table away rename to event`.execute(database.db);
    await node.flush.flush();
    expect(await notices()).toEqual(['account-month 80 % at 8 of 10']);
  });

  it('are added when a limit is lowered below the usage, even if no request is admitted', async () => {
    const node = new Node(database, clock);
    await node.useAndFlush(limited(1_000), 60);
    expect(await notices()).toEqual([]);
    const lowered = limited(50);
    await node.useAndFlush(lowered, 1);
    expect(await notices()).toEqual(['account-month 100 % at 60 of 50', 'account-month 80 % at 60 of 50']);
    await database.db.deleteFrom('quota_counter').execute();
    await node.useAndFlush(lowered, 5);
    expect(await database.db.selectFrom('quota_counter').selectAll().execute()).toEqual([]);
  });

  it('are not added for a limit of 0, for no limit, or for a minute limit', async () => {
    const node = new Node(database, clock);
    await node.use(limited(0), 3);
    await node.use(subjectWith({}, { accountId: 'acc_2' }), 3);
    await node.use(subjectWith({ accountMinute: 3, keyMinute: 3 }, { accountId: 'acc_3' }), 5);
    await node.flush.flush();
    expect(await Promise.all(['acc_1', 'acc_2', 'acc_3'].map((accountId) => notices(accountId)))).toEqual([[], [], []]);
  });

  it('are added again in the next month', async () => {
    const node = new Node(database, clock);
    const subject = limited(10);
    await node.useAndFlush(subject, 10);
    clock.advance(Date.parse('2026-12-01T00:00:00Z') - NOW_MS);
    await node.useAndFlush(subject, 8);
    expect(await notices()).toEqual([
      'account-month 100 % at 10 of 10',
      'account-month 80 % at 10 of 10',
      'account-month 80 % at 8 of 10',
    ]);
  });
});
