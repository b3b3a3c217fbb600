/** Guarantees of quota adjustments, on SQLite and PostgreSQL, with counters in the process and in Redis. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { systemClock } from '../../src/platform/clock.js';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { createAccountSchema } from '../../src/records/account-fields.js';
import { AccountStore } from '../../src/accounts/accounts.js';
import { createApiKeySchema } from '../../src/accounts/api-key-fields.js';
import { ApiKeyStore } from '../../src/accounts/api-key-store.js';
import { AuditLog } from '../../src/records/audit-log.js';
import { Catalogue } from '../../src/accounts/catalogue.js';
import type { CreateQuotaAdjustment } from '../../src/accounts/quota-adjustment-fields.js';
import { QuotaAdjustmentStore } from '../../src/accounts/quota-adjustments.js';
import { Breaker } from '../../src/platform/breaker.js';
import type { CounterStore } from '../../src/quota/model/counter-store.js';
import { LocalShare } from '../../src/quota/local-share.js';
import { MonthLedger } from '../../src/quota/usage/month-ledger.js';
import { monthPeriodAt } from '../../src/quota/model/month-period.js';
import type { QuotaSubject } from '../../src/quota/model/subject.js';
import { ProcessCounters } from '../../src/quota/process/process-counters.js';
import { LimiterSink } from '../../src/quota/limiter-sink.js';
import { Limiter, type Fallback } from '../../src/quota/limiter.js';
import { Recovery } from '../../src/quota/recovery.js';
import { ShadowLimits } from '../../src/quota/shadow-limits.js';
import { RedisCounters } from '../../src/quota/redis/redis-counters.js';
import { Degradation } from '../../src/quota/degradation.js';
import { ProcessThrottleWindows } from '../../src/quota/throttle-windows.js';
import { UsageFlush, type FlushOptions } from '../../src/quota/usage/usage-flush.js';
import { UsageRecorder } from '../../src/quota/usage/usage-recorder.js';
import { UsageTable } from '../../src/quota/usage/usage-table.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases, describeOnDatabasesWithRedis } from '../support/describe-with.js';
import { countsByWindow, subjectWith, UTC_MONTHS } from '../support/quotas.js';
import { OPERATOR, RecordingBus, TEST_CONFIG } from '../support/stores.js';
import { emptyRedis, PATIENT_DEADLINE_MS } from '../support/timed-redis.js';
import { ACCOUNT_MONTH } from '../../src/platform/quotas/windows.js';

const LOG = pino({ level: 'silent' });
const MOST = 999_999_999_999_999;
const plans = {
  monthly: { key: { month: 50 }, account: { month: 100 }, onRedisLoss: 'local' as const, charge: 'all' as const },
  open: { key: {}, account: {}, onRedisLoss: 'local' as const, charge: 'all' as const },
};
const catalogue = new Catalogue(() => ({ ...TEST_CONFIG, file: { plans } as never }));

/** Wires a node: its limiter, and the ledger that writes the counts it saw. */
interface Node {
  readonly limiter: Limiter;
  readonly ledger: MonthLedger;
  readonly flush: UsageFlush;
}

/** Creates one node with counters in this process. */
function processNodes(database: DatabaseHandle): { nodes: Node[]; close: () => void } {
  const ledger = new MonthLedger(database.db, systemClock);
  const shadows = new ShadowLimits(systemClock, false);
  const sink = new LimiterSink(ledger, shadows, systemClock);
  const counters = new ProcessCounters(systemClock, ledger, 'store', undefined, sink);
  const flush = flushOf(database, ledger, { isShared: false, exact: counters });
  return { nodes: [{ limiter: storageOf(counters, shadows, ledger), ledger, flush }], close: () => {} };
}

/** Creates two nodes on one Redis. */
async function redisNodes(database: DatabaseHandle): Promise<{ nodes: Node[]; close: () => void }> {
  const client = await emptyRedis();
  const nodes = [1, 2].map((): Node => {
    const ledger = new MonthLedger(database.db, systemClock);
    const alone = { count: 1, rank: 0 };
    const local = new LocalShare(new ProcessCounters(systemClock, ledger, 'local'), ledger, () => alone, systemClock);
    const degradation = new Degradation(new Breaker(systemClock), local, systemClock, LOG);
    const shadows = new ShadowLimits(systemClock, true);
    const sink = new LimiterSink(ledger, shadows, systemClock, degradation);
    // Ignores failed calls, so that a slow machine does not cause an outage.
    sink.onCallEnd = () => {};
    const counters = new RedisCounters(client, systemClock, ledger, sink, PATIENT_DEADLINE_MS);
    const recovery = new Recovery(counters, degradation, ledger, () => client.ping());
    const limiter = storageOf(counters, shadows, ledger, { degradation, recovery });
    return { limiter, ledger, flush: flushOf(database, ledger, { isShared: true }) };
  });
  return { nodes, close: () => client.disconnect() };
}

function flushOf(database: DatabaseHandle, ledger: MonthLedger, options: FlushOptions): UsageFlush {
  const table = new UsageTable(database.db, database.kind, options.isShared);
  return new UsageFlush(table, ledger, new UsageRecorder(systemClock), systemClock, LOG, options);
}

function storageOf(counters: CounterStore, shadows: ShadowLimits, ledger: MonthLedger, fallback?: Fallback): Limiter {
  const windows = new ProcessThrottleWindows(systemClock);
  return new Limiter(counters, shadows, ledger, windows, systemClock, LOG, fallback);
}

function suite(kind: DatabaseHandle['kind'], open: typeof redisNodes | typeof processNodes): void {
  let database: DatabaseHandle;
  let nodes: Node[];
  let close: () => void;
  let accounts: AccountStore;
  let keys: ApiKeyStore;
  let adjustments: QuotaAdjustmentStore;
  let bus: RecordingBus;
  let accountId: string;
  let keyId: string;
  let secretSubject: (limit?: number) => QuotaSubject;

  beforeAll(async () => {
    database = await testDatabase(kind);
  });
  afterAll(() => database.close());
  beforeEach(async () => {
    ({ nodes, close } = await open(database));
    bus = new RecordingBus();
    const deps = { database, clock: systemClock, bus, catalogue };
    accounts = new AccountStore(deps);
    keys = new ApiKeyStore(deps);
    adjustments = new QuotaAdjustmentStore({ ...deps, counters: nodes.at(-1)!.limiter, hasCounters: true });
    accountId = (await accounts.create(createAccountSchema.parse({ name: 'a', plan: 'monthly' }), OPERATOR)).id;
    const made = await keys.create(accountId, createApiKeySchema.parse({ name: 'k', scopes: ['*'] }), OPERATOR);
    keyId = made.key.id;
    secretSubject = (accountMonth = Infinity) => subjectWith({ accountMonth }, { accountId, keyId });
  });
  afterEach(() => close());

  const adjust = (input: Partial<CreateQuotaAdjustment>, of = accountId) =>
    adjustments.create(of, { window: 'month', type: 'grant', reason: 'because', ...input }, OPERATOR);
  const used = async () => countsByWindow((await nodes[0]!.limiter.read(accountId, keyId, UTC_MONTHS)).used);
  const flushAll = async () => {
    for (const { flush } of nodes) await flush.flush();
  };
  const written = async () => {
    const rows = await database.db
      .selectFrom('quota_counter')
      .selectAll()
      .where('account_id', '=', accountId)
      .execute();
    return Object.fromEntries(rows.map((row) => [row.api_key_id === '' ? 'account' : 'key', row.used]));
  };
  const count = async (requests: number, node = 0, subject = secretSubject()) => {
    for (let request = 0; request < requests; request++) await nodes[node % nodes.length]!.limiter.decide(subject, 1);
  };
  const problem = (code: string, pointer?: string) =>
    expect.objectContaining({
      code,
      ...(pointer === undefined
        ? {}
        : { options: expect.objectContaining({ errors: [expect.objectContaining({ pointer })] }) }),
    });

  it('grants to the account and to a key add up', async () => {
    await adjust({ amount: 1_000 });
    await adjust({ amount: 500 });
    await adjust({ amount: 7, api_key_id: keyId });
    const { label } = monthPeriodAt(systemClock.now());
    expect((await accounts.get(accountId)).grant).toEqual({ month: label, amount: 1_500 });
    expect((await keys.get(keyId)).grant).toEqual({ month: label, amount: 7 });
    expect(bus.published.at(-1)).toEqual({ type: 'account', accountId });
  });

  it('concurrent grants all count', async () => {
    await Promise.all(Array.from({ length: 10 }, (_, index) => adjust({ amount: index + 1 })));
    expect((await accounts.get(accountId)).grant.amount).toBe(55);
  });

  it('a grant of a past month does not add to a new one', async () => {
    await database.db.updateTable('account').set({ grant_period: 20_000_101, grant_amount: 900 }).execute();
    await adjust({ amount: 5 });
    expect((await accounts.get(accountId)).grant.amount).toBe(5);
  });

  it('a grant without a limit to raise is rejected, and so is one beyond the maximum', async () => {
    const open = await accounts.create(createAccountSchema.parse({ name: 'a', plan: 'open' }), OPERATOR);
    await expect(adjust({ amount: 5 }, open.id)).rejects.toEqual(problem('conflict'));
    await keys.update(keyId, { limits: { month: null } }, OPERATOR);
    await expect(adjust({ amount: 5, api_key_id: keyId })).rejects.toEqual(problem('conflict'));
    await keys.update(keyId, { limits: null }, OPERATOR);
    await adjust({ amount: MOST, api_key_id: keyId });
    await expect(adjust({ amount: 1, api_key_id: keyId })).rejects.toEqual(problem('validation_failed', '#/amount'));
    await keys.revoke(keyId, OPERATOR);
    await expect(adjust({ amount: 1, api_key_id: keyId })).rejects.toEqual(problem('conflict'));
  });

  it('a set and a reset change the counter and its row, and no other counter', async () => {
    await count(5);
    await adjust({ type: 'set', amount: 80 });
    expect(await used()).toMatchObject({ accountMonth: 80, keyMonth: 5 });
    expect(await written()).toMatchObject({ account: 80 });
    await adjust({ type: 'reset', api_key_id: keyId });
    expect(await used()).toMatchObject({ accountMonth: 80, keyMonth: 0 });
    expect(await written()).toEqual({ account: 80, key: 0 });
  });

  it('counts that a node saw before a reset are never written after it', async () => {
    const [first, second] = [secretSubject(), secretSubject()];
    await count(40, 0, first);
    await count(2, 1, second);
    await adjust({ type: 'reset' });
    await count(3, 1, second);
    await flushAll();
    expect((await written())['account']).toBe(3);
    await adjust({ type: 'reset' });
    await flushAll();
    expect((await written())['account']).toBe(0);
    expect((await nodes[0]!.ledger.usedInMonth(accountId, keyId, monthPeriodAt(systemClock.now()))).account.used).toBe(
      0,
    );
  });

  it('a flush that began before a reset does not undo it', async () => {
    await count(40);
    const flushing = flushAll();
    await adjust({ type: 'reset' });
    await flushing;
    expect(await written()).toMatchObject({ account: 0 });
    await count(1);
    await flushAll();
    expect(await written()).toMatchObject({ account: 1 });
  });

  it('sets under load leave counter and row equal, and count each later request once', async () => {
    const subjects = nodes.map(() => secretSubject());
    let isRunning = true;
    const seen: number[] = [];
    const load = subjects.map(async (subject, node) => {
      while (isRunning) {
        const decided = await Promise.all(Array.from({ length: 20 }, () => nodes[node]!.limiter.decide(subject, 1)));
        for (const decision of decided) seen.push(decision.used[ACCOUNT_MONTH]);
        await new Promise((resolve) => setImmediate(resolve));
      }
    });
    for (const amount of [10_000_000, 20_000_000, 30_000_000]) {
      await new Promise((resolve) => setTimeout(resolve, 30));
      await Promise.all([adjust({ type: 'set', amount }), flushAll()]);
    }
    await new Promise((resolve) => setTimeout(resolve, 30));
    isRunning = false;
    await Promise.all(load);
    await flushAll();
    const after = seen.filter((count) => count > 30_000_000).toSorted((a, b) => a - b);
    expect(after.length).toBeGreaterThan(0);
    expect(after).toEqual(Array.from({ length: after.length }, (_, index) => 30_000_001 + index));
    expect((await used()).accountMonth).toBe(30_000_000 + after.length);
    expect((await written())['account']).toBe(30_000_000 + after.length);
    expect((await written())['key']).toBe((await used()).keyMonth);
    expect((await used()).keyMonth).toBe(seen.length);
  });

  it('concurrent sets end with the same value in the counter, its row and the list', async () => {
    const amounts = Array.from({ length: 8 }, (_, index) => 100 + index);
    await Promise.all(amounts.map((amount) => adjust({ type: 'set', amount })));
    const { accountMonth } = await used();
    expect(amounts).toContain(accountMonth);
    expect((await written())['account']).toBe(accountMonth);
    expect((await adjustments.list(accountId, { limit: 1 })).data[0]?.amount).toBe(accountMonth);
  });

  it('are recorded with the values before and after, and listed newest first in pages', async () => {
    await count(5);
    const set = await adjust({ type: 'set', amount: 9, reason: 'invoice 12' });
    await adjust({ amount: 1 });
    const { data: entries } = await new AuditLog(database.db).list({ limit: 2, accountId });
    expect(entries).toMatchObject([
      { action: 'quota_adjustment.created', before: { granted: 0 }, after: { granted: 1, type: 'grant' } },
      {
        targetType: 'quota_adjustment',
        targetId: set.id,
        before: { used: 5 },
        after: { used: 9, type: 'set', amount: 9, api_key_id: null, reason: 'invoice 12', window: 'month' },
        ...OPERATOR,
      },
    ]);
    const page = await adjustments.list(accountId, { limit: 1 });
    expect(page.data).toMatchObject([{ type: 'grant', amount: 1, apiKeyId: null, actor: 'operator' }]);
    const next = await adjustments.list(accountId, { limit: 1, cursor: page.nextCursor ?? '' });
    expect(next).toMatchObject({ data: [set], nextCursor: null });
  });

  it('for a key of another account or an unknown key are rejected with a pointer', async () => {
    const other = await accounts.create(createAccountSchema.parse({ name: 'b', plan: 'monthly' }), OPERATOR);
    for (const type of ['grant', 'set', 'reset'] as const) {
      const input = { type, ...(type === 'reset' ? {} : { amount: 1 }) };
      const refused = problem('validation_failed', '#/api_key_id');
      await expect(adjust({ ...input, api_key_id: keyId }, other.id)).rejects.toEqual(refused);
      await expect(adjust({ ...input, api_key_id: 'key_none' })).rejects.toEqual(refused);
      await expect(adjust(input, 'acc_none')).rejects.toEqual(problem('resource_not_found'));
    }
    expect((await adjustments.list(accountId, { limit: 1 })).data).toEqual([]);
    await expect(adjustments.list('acc_none', { limit: 1 })).rejects.toEqual(problem('resource_not_found'));
  });

  it('work for a suspended account', async () => {
    await accounts.update(accountId, { status: 'suspended' }, OPERATOR);
    await adjust({ amount: 1 });
    await adjust({ type: 'set', amount: 4 });
    expect((await used()).accountMonth).toBe(4);
  });

  it('change and record nothing when the counters are unavailable', async () => {
    const deps = { database, clock: systemClock, bus, catalogue };
    const away = {
      read: () => Promise.reject(new Error('away')),
      setMonthUsed: () => Promise.reject(new Error('away')),
    };
    const before = bus.published.length;
    for (const [counters, hasCounters] of [
      [away, true],
      [nodes[0]!.limiter, false],
    ] as const) {
      const store = new QuotaAdjustmentStore({ ...deps, counters, hasCounters });
      const input = { window: 'month', type: 'set', amount: 9, reason: 'r' } as const;
      await expect(store.create(accountId, input, OPERATOR)).rejects.toEqual(problem('quota_unavailable'));
    }
    expect((await adjustments.list(accountId, { limit: 1 })).data).toEqual([]);
    expect((await used()).accountMonth).toBe(0);
    expect(bus.published).toHaveLength(before);
  });
}

describeOnDatabases('adjustments with counters in the process', (kind) => {
  suite(kind, processNodes);
});

describeOnDatabasesWithRedis('adjustments with counters in Redis', (kind) => {
  suite(kind, redisNodes);
});
