/**
 * Redis is emptied during a burst on two gateways. They know what they admitted, so no monthly usage is lost. Counts
 * that only one gateway knew are lost only if that gateway is killed in the same second.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { connectRedis, redisReady } from '../../src/stores/redis/connect.js';
import { json, startBackend, type Backend } from '../support/backend.js';
import { describeWithOwnRedisAndPostgres } from '../support/describe-with.js';
import { freshDatabase } from '../support/postgres.js';
import { eventually, sleep } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';
import { startRedis, type RedisServer } from '../support/redis.js';
import { SteadyLoad, type Sample } from '../support/steady-load.js';

const PER_SECOND = 200;
/** Long, so that most of a burst would be lost if the gateways did not restore it. */
const FLUSH_MS = 1_500;
const SLACK_MS = 500;
/**
 * Number of times that Redis is emptied in each burst. Repeated times come before every gateway has noticed the first.
 */
const EMPTIED = [1, 3, 1, 3];
const LIMIT = 1_000_000;
// With `closed`, no request is admitted that Redis could not count, however busy this machine is.
const PLANS = { month: { account: { month: LIMIT }, onRedisLoss: 'closed' } };

describeWithOwnRedisAndPostgres('two gateways whose Redis is emptied', () => {
  let backend: Backend;
  let redis: RedisServer;
  let database: Awaited<ReturnType<typeof freshDatabase>>;
  let client: Redis;
  let first: RunningTrailgate;
  let second: RunningTrailgate;
  let shared: Parameters<typeof startTrailgate>[0];
  beforeAll(async () => {
    [backend, redis, database] = await Promise.all([startBackend(json({ ok: true })), startRedis(), freshDatabase()]);
    client = connectRedis(redis.url, 'test', { warn: () => {} }) as Redis;
    await redisReady(client, 5_000);
    shared = {
      backend: backend.url,
      config: { plans: PLANS, usage: { flushInterval: `${FLUSH_MS}ms` } },
      env: { REDIS_URL: redis.url, DATABASE_URL: database.url, LOG_LEVEL: 'warn' },
    };
    first = await startTrailgate(shared);
    second = await startTrailgate({ ...shared, roles: ['gateway'] });
  });
  afterAll(async () => {
    await Promise.all([first.stop(), second.stop()]);
    client.disconnect();
    await Promise.all([backend.stop(), redis.stop()]);
    await database.drop();
  });

  const usedBy = async (accountId: string) => (await first.admin.usage(accountId)).windows[0]?.used ?? NaN;
  const ok = (samples: readonly Sample[]) => samples.filter(({ status }) => status === 200).length;

  /**
   * Sends requests with one key to both gateways during `meanwhile`. Expects the usage to equal the admitted requests.
   */
  async function expectNoUsageLost(meanwhile: () => Promise<void>): Promise<void> {
    const { account, key } = await first.admin.newKey('month');
    backend.requests.length = 0;
    const origins = [first, second].map(({ gatewayUrl }) => ({ name: '', gatewayUrl, secret: key.secret }));
    const load = new SteadyLoad(origins, PER_SECOND);
    await meanwhile();
    await load.stop();
    const admitted = backend.requests.length;
    expect(admitted).toBeGreaterThan(20);
    let used = 0;
    await eventually(
      'all admitted requests are counted',
      async () => (used = await usedBy(account.id)) >= admitted,
    ).catch(() => {
      throw new Error(`${admitted - used} of ${admitted} admitted requests are not counted`);
    });
    // Usage is higher only if Redis missed its deadline on a busy machine. It may then have counted refused requests.
    const wasInTime = ok(load.samples) === load.samples.length;
    expect(used).toBeLessThanOrEqual(wasInTime ? admitted : load.samples.length);
  }

  // Keep this test first. Within twelve seconds of another loss, only the gateway that made a count knows it.
  it('lose only what a third gateway, killed in the same second, admitted since its last flush', async () => {
    const third = await startTrailgate({ ...shared, roles: ['gateway'] });
    const [alone, together] = [await first.admin.newKey('month'), await first.admin.newKey('month')];
    const on = (name: string, { gatewayUrl }: RunningTrailgate, { key }: typeof alone) => ({
      name,
      gatewayUrl,
      secret: key.secret,
    });
    const load = new SteadyLoad(
      [on('alone', third, alone), on('of third', third, together), on('of first', first, together)],
      PER_SECOND,
    );
    await sleep(FLUSH_MS + SLACK_MS);
    await client.flushall();
    await third.kill9();
    const killedAtMs = performance.now();
    await load.stop();
    const sinceMs = killedAtMs - FLUSH_MS - SLACK_MS;
    const lately = load.between(sinceMs, killedAtMs, 'alone').length;
    // For the shared account, the first gateway knows the count as of its own last request.
    const unseen = load.between(killedAtMs - SLACK_MS, killedAtMs, 'of third').length;
    const admitted = (...names: string[]) => ok(load.samples.filter(({ name }) => names.includes(name)));
    const forgotten = async (): Promise<[alone: number, together: number]> => [
      admitted('alone') - (await usedBy(alone.account.id)),
      admitted('of first', 'of third') - (await usedBy(together.account.id)),
    ];
    let lost = await forgotten();
    const isAsStated = async (): Promise<boolean> => {
      lost = await forgotten();
      return lost[0] <= lately && lost[1] <= unseen;
    };
    await eventually('no more counts are missing than expected', isAsStated).catch(() => {
      throw new Error(`missing counts are ${lost}, allowed are ${lately} and ${unseen}`);
    });
  });

  it('lose no usage when FLUSHALL runs during a burst, even again before all have noticed', async () => {
    for (const times of EMPTIED) {
      await expectNoUsageLost(async () => {
        await sleep(300 + Math.random() * FLUSH_MS);
        for (let time = 0; time < times; time++) {
          await client.flushall();
          await sleep(Math.random() * 500);
        }
      });
    }
  });

  it('lose no usage of a key that only one gateway has served and that is idle since', async () => {
    const { account, key } = await first.admin.newKey('month');
    const load = new SteadyLoad([{ name: '', gatewayUrl: second.gatewayUrl, secret: key.secret }], PER_SECOND);
    await sleep(1_000);
    await load.stop();
    await client.flushall();
    // Reads the usage, which makes the other process recreate the counter from the database.
    await usedBy(account.id);
    await eventually('all admitted requests are counted', async () => (await usedBy(account.id)) >= ok(load.samples));
  });
});
