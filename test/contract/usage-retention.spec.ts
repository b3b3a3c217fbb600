/** Usage and month counts are deleted once they are older than `usage.retention`, on SQLite and PostgreSQL. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { UsageRetention } from '../../src/quota/usage/usage-retention.js';
import { UsageTable } from '../../src/quota/usage/usage-table.js';
import { testDatabase } from '../support/database.js';
import { TestClock } from '../support/stores.js';
import { describeOnDatabases } from '../support/describe-with.js';

const NOW_MS = Date.parse('2026-11-20T10:00:00Z');

describeOnDatabases('retention of usage', (kind) => {
  let database: DatabaseHandle;
  beforeEach(async () => {
    database = await testDatabase(kind);
  });
  afterEach(() => database.close());

  const days = async () =>
    (await database.db.selectFrom('usage_daily').select('day').distinct().orderBy('day').execute()).map(
      ({ day }) => day,
    );

  it('deletes thousands of older rows and older months, and keeps the rest', async () => {
    const table = new UsageTable(database.db, kind, true);
    const row = { accountId: 'acc_1', month: 20_260_801, outcome: 'success', requests: 1, cost: 1, operation: 'list' };
    const usage = [20_260_919, 20_260_920, 20_260_921, 20_261_120].flatMap((day) =>
      Array.from({ length: day === 20_260_919 ? 7_000 : 1 }, (_, index) => ({ ...row, day, keyId: `key_${index}` })),
    );
    const counters = [20_260_801, 20_261_101].map((month) => {
      return { accountId: 'acc_1', keyId: '', month, used: 1, observedAtMs: 1 };
    });
    await table.write('node', { number: 1, usage, counters }, NOW_MS);
    // Keeps 61 days: the configured 60, and one more because of time zones.
    const retention = new UsageRetention(database.db, kind, 60, new TestClock(NOW_MS));
    expect(await retention.deleteOld()).toBe(7_001);
    expect(await days()).toEqual([20_260_920, 20_260_921, 20_261_120]);
    const months = await database.db.selectFrom('quota_counter').select('period').execute();
    expect(months).toEqual([{ period: 20_261_101 }]);
    expect(await retention.deleteOld()).toBe(0);
  });
});
