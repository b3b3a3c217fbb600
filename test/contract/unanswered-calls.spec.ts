/** Calls to Redis without a response. Every admitted request is counted once, whether or not Redis ran the call. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { WINDOWS } from '../../src/platform/quotas/windows.js';
import { systemClock } from '../../src/platform/clock.js';
import { openRedisQuotas, type Quotas } from '../../src/quota/open-quotas.js';
import type { QuotaDecision } from '../../src/quota/model/policies.js';
import type { QuotaSubject } from '../../src/quota/model/subject.js';
import { connectRedis, redisReady, type RedisClient } from '../../src/stores/redis/connect.js';
import { testDatabase } from '../support/database.js';
import { describeWithOwnRedis } from '../support/describe-with.js';
import { quietMsSince } from '../support/machine-time.js';
import { eventually, sleep } from '../support/processes.js';
import { subjectWith, UTC_MONTHS } from '../support/quotas.js';
import { startRedis, type RedisServer } from '../support/redis.js';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.js';

/** Longer than a call can still run after it was sent. */
const TOO_LATE_MS = 200;

describeWithOwnRedis('a Redis call without a response', () => {
  const log = pino({ level: 'silent' });
  let redis: RedisServer;
  let direct: RedisClient;
  let proxy: TcpProxy;
  let database: Awaited<ReturnType<typeof testDatabase>>;
  let quotas: Quotas;
  let subject: QuotaSubject;
  beforeEach(async () => {
    redis = await startRedis();
    direct = connectRedis(redis.url, 'test', { warn: () => {} });
    await redisReady(direct, 5_000);
    proxy = await startTcpProxy(redis.port);
    database = await testDatabase('sqlite');
    quotas = await openRedisQuotas(
      { db: database.db, kind: database.kind, clock: systemClock, log, watchIntervalMs: 50 },
      `redis://127.0.0.1:${proxy.port}`,
    );
    let tries = 0;
    await eventually('the store has counted one request', async () => {
      subject = subjectWith({ accountMinute: 1_000, keyMonth: 1_000 }, { accountId: `acc_${++tries}` });
      return (await decide()).source === 'store';
    });
  });
  afterEach(async () => {
    proxy.release();
    await quotas.stop();
    await proxy.close();
    direct.disconnect();
    await redis.stop();
    await database.close();
  });

  const decide = async (cost = 1): Promise<QuotaDecision> => quotas.limiter.decide(subject, cost);
  /** Sends the first request alone. The others are batched behind it. */
  const decideMany = async (count: number): Promise<QuotaDecision[]> => {
    const first = decide();
    await new Promise((resolve) => setImmediate(resolve));
    return Promise.all([first, ...Array.from({ length: count - 1 }, () => decide())]);
  };
  const stored = async () => Number((await direct.hget(subject.accountCounterKey, 'u')) ?? 0);
  const isBack = () => eventually('Redis decides again', async () => quotas.limiter.storeUp);
  /** Returns the usage of all windows of account and key. */
  const used = async (): Promise<number[]> => {
    const reading = await quotas.limiter.read(subject.accountId, subject.keyId, UTC_MONTHS);
    return Object.values(reading.used);
  };
  const expectUsed = async (count: number) => expect(await used()).toEqual(WINDOWS.map(() => count));

  it('is refunded when Redis ran it but the response was late', async () => {
    proxy.holdAnswers();
    const decisions = await decideMany(20);
    expect(decisions.map(({ source }) => source)).toEqual(decisions.map(() => 'local'));
    expect(await stored()).toBe(2);
    await sleep(TOO_LATE_MS);
    proxy.release();
    await isBack();
    await expectUsed(21);
  });

  it('is refunded when the connection broke after Redis ran it', async () => {
    proxy.holdAnswers();
    const waiting = decideMany(20);
    await eventually('Redis has run the call', async () => (await stored()) === 2);
    proxy.cut();
    proxy.release();
    expect((await waiting).map(({ source }) => source)).toEqual((await waiting).map(() => 'local'));
    await isBack();
    await expectUsed(21);
  });

  it('counts nothing when it reaches Redis too late', async () => {
    proxy.holdRequests();
    await decideMany(20);
    await sleep(TOO_LATE_MS);
    expect(await stored()).toBe(1);
    proxy.release();
    await isBack();
    await expectUsed(21);
  });

  it('to a frozen Redis leaves each request counted once, whenever Redis resumes', async () => {
    let admitted = 1;
    for (const frozenMs of [70, 90, 300]) {
      redis.pause();
      const waiting = decideMany(10);
      await sleep(frozenMs);
      redis.resume();
      await waiting;
      admitted += 10;
      await isBack();
      await expectUsed(admitted);
    }
  });

  it('for a refused request refunds nothing', async () => {
    const full = subjectWith({ keyMonth: 0 });
    proxy.holdAnswers();
    await quotas.limiter.decide(full, 1);
    await sleep(TOO_LATE_MS);
    proxy.release();
    await isBack();
    await expectUsed(1);
  });

  it('followed by a replay leaves every request counted once, even later ones', async () => {
    proxy.holdAnswers();
    await decideMany(5);
    await sleep(TOO_LATE_MS);
    // All calls reach Redis, but no response returns until the replay has run at least once.
    const replayed = async () => (await direct.keys('tg:r:*')).length > 0;
    const letThrough = setInterval(() => {
      proxy.release();
      setImmediate(() => proxy.holdAnswers());
    }, 20);
    await eventually('Redis has run the replay', replayed).finally(() => clearInterval(letThrough));
    proxy.holdAnswers();
    await decideMany(3);
    proxy.release();
    await isBack();
    await expectUsed(9);
  });

  it('does not refund a request twice that is refunded meanwhile', async () => {
    const before = await decide(4);
    proxy.holdAnswers();
    const [local] = await decideMany(5);
    quotas.limiter.refund(subject, before);
    quotas.limiter.refund(subject, local!);
    await sleep(TOO_LATE_MS);
    proxy.release();
    await isBack();
    await expectUsed(1 + 4);
  });

  it('on a silently dead connection is decided locally, and the connection is replaced', async () => {
    const connections = proxy.accepted;
    proxy.strand();
    const startedMs = performance.now();
    expect((await decide(3)).source).toBe('local');
    expect(quietMsSince(startedMs)).toBeLessThan(1_000);
    while (!quotas.limiter.storeUp) {
      const decision = await decide(0);
      expect(decision.admitted).toBe(true);
      await sleep(50);
    }
    expect(proxy.accepted).toBeGreaterThan(connections);
    expect((await decide(1)).source).toBe('store');
    await expectUsed(5);
  });
});
