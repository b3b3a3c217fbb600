/** Throttles in this process, in Redis, in the counting process, and in this process during a Redis outage. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { countingClient, startCounting, type Counting } from '../support/counting.js';
import { describeWithOwnRedis, describeWithRedis } from '../support/describe-with.js';
import { sharedRedisUrl, startRedis } from '../support/redis.js';
import { TestClock } from '../support/stores.js';
import { systemClock } from '../../src/platform/clock.js';
import { connectRedis, redisReady, type RedisClient } from '../../src/stores/redis/connect.js';
import type { ThrottleRow } from '../../src/quota/model/throttle-rows.js';
import {
  ProcessThrottleWindows,
  RedisThrottleWindows,
  type ThrottleWindows,
} from '../../src/quota/throttle-windows.js';

const SILENT = { warn: () => {} };
/** Returns a throttle that keeps at most three keys in a process. */
const rowOf = (name: string, windowMs = 60_000): ThrottleRow => ({
  name,
  limit: 10,
  windowMs,
  by: 'test',
  counted: 'store',
  mostKeys: 3,
});

/** Sends `most` concurrent hits and returns how many were admitted. */
async function admittedOf(windows: ThrottleWindows, key: string, limit: number, most: number): Promise<number> {
  const verdicts = await Promise.all(
    Array.from({ length: most }, () => windows.increment(rowOf('sign-in', 60_000), key, limit)),
  );
  return verdicts.filter(({ admitted }) => admitted).length;
}

describe('throttles in this process', () => {
  let clock: TestClock;
  let windows: ProcessThrottleWindows;
  beforeEach(() => {
    clock = new TestClock();
    windows = new ProcessThrottleWindows(clock);
  });

  it('admit exactly the limit, separately for each key', async () => {
    expect(await admittedOf(windows, '192.0.2.1', 10, 50)).toBe(10);
    expect(await admittedOf(windows, '192.0.2.2', 10, 50)).toBe(10);
  });

  it.each([1_000, 60_000, 900_000, 86_400_000])('never admit more than the limit in any %i ms', async (ttlMs) => {
    const admittedAt: number[] = [];
    for (let step = 0; step < 600; step++) {
      if ((await windows.increment(rowOf('x', ttlMs), 'y', 7)).admitted) admittedAt.push(clock.now());
      clock.advance(ttlMs / 173);
    }
    const spansOfEight = admittedAt.slice(7).map((eighthMs, first) => eighthMs - (admittedAt[first] ?? 0));
    expect(Math.min(...spansOfEight)).toBeGreaterThanOrEqual(ttlMs);
    expect(admittedAt.length).toBeGreaterThanOrEqual(21);
  });

  it('do not count a refused hit, and return when the next one is admitted', async () => {
    await windows.increment(rowOf('x', 60_000), 'y', 1);
    for (let hit = 0; hit < 100; hit++) {
      clock.advance(100);
      expect((await windows.increment(rowOf('x', 60_000), 'y', 1)).admitted).toBe(false);
    }
    const { resetMs, hits } = await windows.increment(rowOf('x', 60_000), 'y', 1);
    expect(hits).toBe(1);
    clock.advance(resetMs - 1);
    expect((await windows.increment(rowOf('x', 60_000), 'y', 1)).admitted).toBe(false);
    clock.advance(1);
    expect((await windows.increment(rowOf('x', 60_000), 'y', 1)).admitted).toBe(true);
  });

  it('refund only the given hit, and none that has left the window', async () => {
    const [first, second] = [
      await windows.increment(rowOf('x', 60_000), 'y', 2),
      await windows.increment(rowOf('x', 60_000), 'y', 2),
    ];
    await windows.refund(rowOf('x', 60_000), 'y', first.bucket);
    expect(await admittedOf(windows, 'y', 10, 5)).toBe(5);
    expect(await windows.increment(rowOf('x', 60_000), 'y', 2)).toMatchObject({ admitted: true, hits: 2 });
    clock.advance(62_000);
    await windows.increment(rowOf('x', 60_000), 'y', 2);
    await windows.refund(rowOf('x', 60_000), 'y', second.bucket);
    await windows.refund(rowOf('x', 60_000), 'unknown', second.bucket);
    expect(await windows.increment(rowOf('x', 60_000), 'y', 2)).toMatchObject({ admitted: true, hits: 2 });
    expect(await windows.increment(rowOf('x', 60_000), 'y', 2)).toMatchObject({ admitted: false });
  });

  it('admit the full limit again after a window was forgotten', async () => {
    await admittedOf(windows, '192.0.2.1', 10, 50);
    await admittedOf(windows, '192.0.2.2', 10, 50);
    await windows.clearWindow(rowOf('sign-in'), '192.0.2.1');
    expect(await admittedOf(windows, '192.0.2.1', 10, 50)).toBe(10);
    expect(await admittedOf(windows, '192.0.2.2', 10, 50)).toBe(0);
  });

  it('keep as many keys as their row says, and evict none because of another row', async () => {
    for (const key of ['1', '2', '3']) await admittedOf(windows, key, 10, 10);
    for (const key of ['4', '5', '6', '7']) await windows.increment(rowOf('other'), key, 10);
    expect(await admittedOf(windows, '1', 10, 1)).toBe(0);
    await windows.increment(rowOf('sign-in'), '4', 10);
    expect([await admittedOf(windows, '1', 10, 1), await admittedOf(windows, '2', 10, 1)]).toEqual([0, 1]);
  });

  it('refuse everything at a limit of zero', async () => {
    expect(await admittedOf(windows, '192.0.2.1', 0, 5)).toBe(0);
  });
});

function sharedThrottles(clientOf: () => RedisClient): void {
  const node = (): RedisThrottleWindows => new RedisThrottleWindows(clientOf(), systemClock);

  it('admit exactly the limit over several nodes', async () => {
    const nodes = [node(), node()];
    const admitted = await Promise.all(nodes.map((node) => admittedOf(node, '192.0.2.1', 10, 50)));
    expect(admitted.reduce((sum, count) => sum + count)).toBe(10);
  });

  it('refund a hit and forget a window that another node counted', async () => {
    const [one, other] = [node(), node()];
    const { bucket } = await one.increment(rowOf('x', 60_000), 'y', 2);
    await one.increment(rowOf('x', 60_000), 'y', 2);
    await other.refund(rowOf('x', 60_000), 'y', bucket);
    expect(await one.increment(rowOf('x', 60_000), 'y', 2)).toMatchObject({ admitted: true, hits: 2 });
    expect(await one.increment(rowOf('x', 60_000), 'y', 2)).toMatchObject({ admitted: false });
    await other.refund(rowOf('x', 60_000), 'y', bucket - 1_000);
    expect(await one.increment(rowOf('x', 60_000), 'y', 2)).toMatchObject({ admitted: false });
    await other.clearWindow(rowOf('x'), 'y');
    expect(await admittedOf(one, 'y', 10, 50)).toBe(10);
    expect(await one.increment(rowOf('x', 60_000), 'y', 2)).toMatchObject({ admitted: true, hits: 1 });
  });

  it('admit again once the window has passed, at the returned time', async () => {
    const windows = node();
    expect((await windows.increment(rowOf('x', 600), 'y', 1)).admitted).toBe(true);
    const refused = await windows.increment(rowOf('x', 600), 'y', 1);
    expect(refused).toMatchObject({ admitted: false, hits: 1 });
    expect(refused.resetMs).toBeGreaterThan(0);
    expect(refused.resetMs).toBeLessThanOrEqual(610);
    await new Promise((done) => setTimeout(done, refused.resetMs + 5));
    expect((await windows.increment(rowOf('x', 600), 'y', 1)).admitted).toBe(true);
  });
}

describe('throttles in the counting process', () => {
  let counting: Counting;
  let client: RedisClient;
  beforeEach(async () => {
    counting = await startCounting();
    client = await countingClient(counting.path);
  });
  afterEach(async () => {
    client.disconnect();
    await counting.stop();
  });
  sharedThrottles(() => client);
});

describeWithRedis('throttles in Redis', () => {
  let client: RedisClient;
  beforeEach(async () => {
    client = connectRedis(await sharedRedisUrl(), 'test', SILENT);
    await redisReady(client, 5_000);
    await client.flushdb();
  });
  afterEach(() => client.disconnect());
  sharedThrottles(() => client);

  it('expire in Redis after at most twice their window', async () => {
    const windows = new RedisThrottleWindows(client, systemClock);
    await windows.increment(rowOf('x', 5_000), 'y', 1);
    const [key = ''] = await client.keys('*');
    expect(await client.pttl(key)).toBeGreaterThan(5_000);
    expect(await client.pttl(key)).toBeLessThanOrEqual(10_000);
  });
});

describeWithOwnRedis('throttles during a Redis outage', () => {
  it('admit exactly the limit in this process', async () => {
    const redis = await startRedis();
    const client = connectRedis(redis.url, 'test', SILENT);
    await redisReady(client, 5_000);
    const windows = new RedisThrottleWindows(client, systemClock);
    await windows.increment(rowOf('sign-in', 60_000), '192.0.2.1', 10);
    await redis.kill9();
    expect(await admittedOf(windows, '192.0.2.1', 10, 50)).toBe(10);
    await windows.clearWindow(rowOf('sign-in'), '192.0.2.1');
    const { bucket } = await windows.increment(rowOf('sign-in', 60_000), '192.0.2.1', 1);
    await windows.refund(rowOf('sign-in', 60_000), '192.0.2.1', bucket);
    expect(await admittedOf(windows, '192.0.2.1', 10, 50)).toBe(10);
    client.disconnect();
    await redis.stop();
  });
});
