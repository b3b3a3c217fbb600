/**
 * Metrics name a limited number of accounts nearest to their month limit, and sum up the others. Runs on SQLite and
 * PostgreSQL.
 */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { pino } from 'pino';
import type { GatewayFile } from '../../src/config/model/schema.js';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { METRICS } from '../../src/platform/metrics.js';
import { TopAccounts } from '../../src/quota/usage/top-accounts.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { labelPairs } from '../../src/platform/metrics/family.js';
import { TestClock } from '../support/stores.js';

/** Middle of November in UTC: 15 of 30 days have passed. */
const NOW_MS = Date.parse('2026-11-16T00:00:00Z');
const NOVEMBER = 20_261_101;
const plan = (month?: number) => ({ key: {}, account: month === undefined ? {} : { month } });
const PLANS = { starter: plan(1_000), pro: plan(10_000), unlimited: plan(), forbidden: plan(0) };
const METRIC_OF = {
  used: METRICS.topAccountUsed,
  limit: METRICS.topAccountLimit,
  forecast: METRICS.topAccountForecast,
} as const;

interface TestAccount {
  readonly id: string;
  readonly used?: number;
  readonly plan?: string;
  readonly zone?: string;
  readonly day?: number;
  readonly status?: 'active' | 'suspended';
  readonly grant?: readonly [period: number, amount: number];
  readonly period?: number;
}

describeOnDatabases('the top accounts in metrics', (kind) => {
  let database: DatabaseHandle;
  let clock: TestClock;
  beforeEach(async () => {
    database = await testDatabase(kind);
    clock = new TestClock(NOW_MS);
  });
  afterEach(() => database.close());

  const topAccounts = (most: number): TopAccounts => {
    const file = { plans: PLANS, metrics: { topAccounts: most } } as unknown as GatewayFile;
    return new TopAccounts(database.db, kind, () => file, clock, pino({ level: 'silent' }));
  };

  async function add(accounts: readonly TestAccount[]): Promise<void> {
    for (let at = 0; at < accounts.length; at += 500) {
      const some = accounts.slice(at, at + 500);
      const rows = some.map(
        ({ id, plan: of = 'starter', zone = 'UTC', day = 1, status = 'active', grant = [0, 0] }) => ({
          id,
          name: id,
          plan: of,
          time_zone: zone,
          billing_day: day,
          status,
          grant_period: grant[0],
          grant_amount: grant[1],
          created_at: 1,
          updated_at: 1,
          version: 1,
        }),
      );
      await database.db.insertInto('account').values(rows).execute();
      await count(some.map(({ id, period = NOVEMBER, used = 0 }) => ({ id, period, used })));
    }
  }

  async function count(
    counts: readonly { readonly id: string; readonly period: number; readonly used: number; readonly key?: string }[],
  ): Promise<void> {
    const rows = counts.map(({ id, period, used, key = '' }) => ({
      account_id: id,
      api_key_id: key,
      period,
      used,
      updated_at: 1,
    }));
    await database.db.insertInto('quota_counter').values(rows).execute();
  }

  /** Returns the values of the metric by account. */
  function shown(of: keyof typeof METRIC_OF): Record<string, number> {
    return Object.fromEntries(
      METRIC_OF[of].read().series.map(({ labels, value }) => {
        const { account_id: id, plan: name } = Object.fromEntries(labelPairs(labels)) as Record<string, string>;
        return [`${id} ${name}`, Number(value)];
      }),
    );
  }

  it('have usage, limit and forecast, and the other limited accounts are summed up', async () => {
    await add([
      { id: 'acc_near', used: 900 },
      { id: 'acc_half', used: 5_000, plan: 'pro' },
      { id: 'acc_granted', used: 300, grant: [NOVEMBER, 500] },
      { id: 'acc_old_grant', used: 30, grant: [20_261_001, 500] },
      { id: 'acc_suspended', used: 999, status: 'suspended' },
      { id: 'acc_unlimited', used: 1_000_000, plan: 'unlimited' },
      { id: 'acc_forbidden', used: 1, plan: 'forbidden' },
      { id: 'acc_no_plan', used: 1_000, plan: 'gone' },
      // This month began on the tenth in Auckland. Six and a half of its 30 days have passed.
      { id: 'acc_auckland', used: 400, zone: 'Pacific/Auckland', day: 10, period: 20_261_110 },
      { id: 'acc_last_month', used: 995, period: 20_261_001 },
    ]);
    await count([
      { id: 'acc_near', period: NOVEMBER, used: 900, key: 'key_1' },
      { id: 'acc_near', period: 20_261_001, used: 1_000 },
      { id: 'acc_auckland', period: 20_261_010, used: 1_000 },
    ]);
    await topAccounts(2).read();
    expect(shown('used')).toEqual({ 'acc_near starter': 900, 'acc_half pro': 5_000, 'other other': 730 });
    expect(shown('limit')).toEqual({ 'acc_near starter': 1_000, 'acc_half pro': 10_000, 'other other': 3_500 });
    const forecast = shown('forecast');
    expect(forecast).toMatchObject({ 'acc_near starter': 1_800, 'acc_half pro': 10_000 });
    // 660 is twice the usage of half a month (300 and 30). The 400 of Auckland were used in 6.5 of 30 days.
    expect(forecast['other other']).toBeCloseTo(660 + (400 * 30) / 6.5, -2);
    expect(METRICS.topAccountsTime.series().value).toBe(NOW_MS / 1_000);
  });

  it('change when the month does, and are absent with a configured number of zero', async () => {
    await add([
      { id: 'acc_a', used: 900 },
      { id: 'acc_b', used: 5 },
    ]);
    await topAccounts(1).read();
    expect(Object.keys(shown('used'))).toEqual(['acc_a starter', 'other other']);
    clock.advance(16 * 86_400_000);
    await count([{ id: 'acc_b', period: 20_261_201, used: 7 }]);
    await topAccounts(1).read();
    expect(shown('used')).toEqual({ 'acc_b starter': 7, 'other other': 0 });
    // A day that has begun counts as a whole day.
    expect(shown('forecast')['acc_b starter']).toBeCloseTo((7 * 31) / 1, 3);
    await topAccounts(0).read();
    expect([shown('used'), shown('limit'), shown('forecast')]).toEqual([{}, {}, {}]);
  });

  it('are found among 12,000 accounts, and every process reports the same', async () => {
    const many = Array.from({ length: 12_000 }, (_, index) => ({ id: `acc_${index}`, used: index % 500 }));
    await add([...many, { id: 'acc_first', used: 990 }, { id: 'acc_zz', used: 980 }, { id: 'acc_0x', used: 970 }]);
    await topAccounts(3).read();
    const first = { used: shown('used'), limit: shown('limit'), forecast: shown('forecast') };
    const rest = many.reduce((sum, { used }) => sum + used, 0);
    expect(first.used).toEqual({
      'acc_first starter': 990,
      'acc_zz starter': 980,
      'acc_0x starter': 970,
      'other other': rest,
    });
    expect(first.limit['other other']).toBe(12_000_000);
    expect(first.forecast['other other']).toBeCloseTo(2 * rest, 0);
    await topAccounts(3).read();
    expect({ used: shown('used'), limit: shown('limit'), forecast: shown('forecast') }).toEqual(first);
  });

  it('are read by the index of account counters', async () => {
    await add(Array.from({ length: 50 }, (_, index) => ({ id: `acc_${index}`, used: index })));
    const { rows } = await explain(database, kind);
    expect(JSON.stringify(rows)).toContain('quota_counter_of_accounts');
  });
});

async function explain({ db }: DatabaseHandle, kind: DatabaseHandle['kind']): Promise<{ rows: unknown[] }> {
  const { sql } = await import('kysely');
  const select = sql`select account_id from quota_counter
    where api_key_id = '' and period = ${NOVEMBER} and account_id > '' order by account_id limit 5000`;
  if (kind === 'sqlite') return sql`explain query plan ${select}`.execute(db);
  return db.transaction().execute(async (trx) => {
    // PostgreSQL would otherwise scan so few rows without an index.
    await sql`set local enable_seqscan = off`.execute(trx);
    return sql`explain ${select}`.execute(trx);
  });
}
