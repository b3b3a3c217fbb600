/** A startup warning reports a Redis that can lose counters. */
import { afterEach, expect, it } from '@jest/globals';
import { describeWithOwnRedis } from '../support/describe-with.js';
import { startRedis, type RedisServer } from '../support/redis.js';
import { connectRedis, redisReady } from '../../src/stores/redis/connect.js';
import { warnOfRisks } from '../../src/stores/redis/risks.js';

describeWithOwnRedis('a Redis', () => {
  let server: RedisServer;
  afterEach(() => server.stop());

  async function warnings(extraArgs: string[], appendonly: boolean): Promise<unknown[]> {
    server = await startRedis({ extraArgs, appendonly });
    const events: unknown[] = [];
    const log = { warn: (fields: object) => void events.push((fields as { event: string }).event) };
    const client = connectRedis(server.url, 'test', log);
    await redisReady(client, 5_000);
    await warnOfRisks(client, log);
    client.disconnect();
    return events;
  }

  it('with an append-only file and without eviction causes no warning', async () => {
    expect(await warnings(['--maxmemory', '100mb', '--maxmemory-policy', 'noeviction'], true)).toEqual([]);
  });

  it('with eviction and without an append-only file causes a warning for each', async () => {
    expect(await warnings(['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru'], false)).toEqual([
      'redis_may_evict',
      'redis_forgets',
    ]);
  });
});
