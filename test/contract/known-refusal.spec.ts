/** A window that is known to be used up refuses requests in the process, without calls to Redis. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { openRedisQuotas, type Quotas } from '../../src/quota/open-quotas.js';
import { testDatabase } from '../support/database.js';
import { describeWithOwnRedis } from '../support/describe-with.js';
import { subjectWith } from '../support/quotas.js';
import { startRedis, type RedisServer } from '../support/redis.js';
import { patientClient } from '../support/timed-redis.js';
import { KEY_MINUTE } from '../../src/platform/quotas/windows.js';

// Uses its own Redis, because the command statistics of a shared Redis include other tests.
describeWithOwnRedis('a used-up window', () => {
  let server: RedisServer;
  let skewMs: number;
  let quotas: Quotas;
  let redis: Awaited<ReturnType<typeof patientClient>>;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());
  let database: Awaited<ReturnType<typeof testDatabase>>;
  beforeEach(async () => {
    skewMs = 0;
    redis = await patientClient(server.url);
    database = await testDatabase('sqlite');
    const clock = { now: () => Date.now() + skewMs };
    quotas = await openRedisQuotas(
      { db: database.db, kind: database.kind, clock, log: pino({ level: 'silent' }) },
      server.url,
    );
  });
  afterEach(async () => {
    await quotas.stop();
    redis.disconnect();
    await database.close();
  });

  /** Returns the number of script calls that Redis has answered. */
  async function scriptCalls(): Promise<number> {
    const text = await redis.info('commandstats');
    return [...text.matchAll(/^cmdstat_(?:evalsha|eval):calls=(\d+)/gm)].reduce(
      (sum, [, calls]) => sum + Number(calls),
      0,
    );
  }
  const decide = (subject: ReturnType<typeof subjectWith>, cost = 1) => quotas.limiter.decide(subject, cost);

  it('refuses a thousand requests without calling Redis, each with the retry time', async () => {
    const subject = subjectWith({ keyMinute: 3 });
    for (let request = 0; request < 3; request++) expect((await decide(subject)).admitted).toBe(true);
    const first = await decide(subject);
    expect(first.admitted).toBe(false);
    const before = await scriptCalls();
    for (let request = 0; request < 1_000; request++) {
      const { admitted, retryAtMs, nowMs, used } = await decide(subject);
      expect([admitted, retryAtMs, used[KEY_MINUTE]]).toEqual([false, first.retryAtMs, 3]);
      expect(nowMs).toBeGreaterThanOrEqual(first.nowMs);
    }
    expect(await scriptCalls()).toBe(before);
  });

  it('is checked in Redis again after ten seconds, and after the clock was set back', async () => {
    const subject = subjectWith({ accountMonth: 1 });
    await decide(subject);
    for (const [skew, calls] of [
      [0, 1],
      [10_000, 2],
      [0, 2],
    ] as const) {
      // prettier-ignore
      skewMs = skew;
      const before = await scriptCalls();
      expect((await decide(subject)).admitted).toBe(false);
      // After this node's clock was changed, it first reads the time of Redis.
      expect(await scriptCalls()).toBe(before + calls);
    }
  });

  it('admits requests at once after the limit was raised', async () => {
    const subject = subjectWith({ keyMinute: 1 });
    await decide(subject);
    expect((await decide(subject)).admitted).toBe(false);
    expect((await decide(subjectWith({ keyMinute: 2 }))).admitted).toBe(true);
  });

  it('admits requests at once after a refund, and cheaper requests all along', async () => {
    const subject = subjectWith({ keyMinute: 5 });
    const admitted = await decide(subject, 4);
    expect((await decide(subject, 4)).admitted).toBe(false);
    expect((await decide(subject, 1)).admitted).toBe(true);
    expect((await decide(subject, 4)).admitted).toBe(false);
    quotas.limiter.refund(subject, admitted);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect((await decide(subject, 4)).admitted).toBe(true);
  });
});
