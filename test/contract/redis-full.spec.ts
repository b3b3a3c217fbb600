/** A Redis with full memory answers reads but rejects counts. It is treated as lost until it accepts counts again. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { systemClock } from '../../src/platform/clock.js';
import { openRedisQuotas, type Quotas } from '../../src/quota/open-quotas.js';
import { testDatabase } from '../support/database.js';
import { describeWithOwnRedis } from '../support/describe-with.js';
import { eventually, sleep } from '../support/processes.js';
import { subjectWith, UTC_MONTHS } from '../support/quotas.js';
import { startRedis, type RedisServer } from '../support/redis.js';
import { ACCOUNT_MONTH } from '../../src/platform/quotas/windows.js';

describeWithOwnRedis('a Redis with full memory', () => {
  let redis: RedisServer;
  let operator: Redis;
  let database: Awaited<ReturnType<typeof testDatabase>>;
  let quotas: Quotas;
  let lines: { event: string; cause?: string }[];
  beforeEach(async () => {
    redis = await startRedis();
    operator = new Redis(redis.url);
    database = await testDatabase('sqlite');
    lines = [];
    const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
    quotas = await openRedisQuotas({ db: database.db, kind: database.kind, clock: systemClock, log }, redis.url);
  });
  afterEach(async () => {
    await quotas.stop();
    operator.disconnect();
    await redis.stop();
    await database.close();
  });
  const logged = (event: string) => lines.filter((line) => line.event === event);

  it.each(['local', 'open'] as const)(
    'is logged as lost once with the OOM error, and decides again when it has memory (%s)',
    async (onStoreLoss) => {
      const subject = subjectWith({ accountMonth: 10_000 }, { onStoreLoss });
      const decide = async () => quotas.limiter.decide(subject, 1);
      await decide();
      await operator.config('SET', 'maxmemory', '1');
      for (let request = 0; request < 100; request++) {
        expect((await decide()).admitted).toBe(true);
        await sleep(10);
      }
      expect(quotas.limiter.storeUp).toBe(false);
      expect(logged('quota_store_lost')).toHaveLength(1);
      expect(logged('quota_store_lost')[0]!.cause).toMatch(/OOM/);
      await operator.config('SET', 'maxmemory', '0');
      await eventually(
        'Redis decides again',
        async () => (await decide()).source === 'store' && quotas.limiter.storeUp,
      );
      expect(logged('quota_store_back')).toHaveLength(1);
      const { used } = await quotas.limiter.read('acc_1', undefined, UTC_MONTHS);
      expect(used[ACCOUNT_MONTH]).toBeGreaterThanOrEqual(onStoreLoss === 'local' ? 102 : 2);
    },
  );
});
