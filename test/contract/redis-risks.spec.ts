/** A Redis that could lose counters is warned of at start. */
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

  it('that keeps an append-only file and evicts nothing is not mentioned', async () => {
    expect(await warnings(['--maxmemory', '100mb', '--maxmemory-policy', 'noeviction'], true)).toEqual([]);
  });

  it('that evicts, or that forgets, is', async () => {
    expect(await warnings(['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru'], false)).toEqual([
      'redis_may_evict',
      'redis_forgets',
    ]);
  });
});
