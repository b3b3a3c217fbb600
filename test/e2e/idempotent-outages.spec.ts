/**
 * While the store is frozen or unreachable, requests with an Idempotency-Key are refused within a deadline and never
 * carried out twice. Other requests are unaffected.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { describeWithOwnRedis, describeWithPostgres } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { makesCustomer, startKeyedWorld, type KeyedWorld } from '../support/keyed.js';
import { quietMsSince } from '../support/machine-time.js';
import { seriesOf } from '../support/metrics-text.js';
import { freshDatabase, type FreshDatabase } from '../support/postgres.js';
import { expectProblem } from '../support/problem.js';
import { eventually } from '../support/processes.js';
import { connectRedis, redisReady } from '../../src/stores/redis/connect.js';
import { startRedis, type RedisServer } from '../support/redis.js';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.js';

interface Losable {
  lose(): void | Promise<void>;
  restore(): void | Promise<void>;
  /** Maximum time until a request with a key is refused, in milliseconds. */
  readonly mostMs: number;
}

/** Defines the tests for one kind of outage. */
function suite(begin: () => Promise<KeyedWorld>, store: Losable, end: () => Promise<void>): void {
  let world: KeyedWorld;
  let key: string;
  beforeAll(async () => {
    world = await begin();
  });
  afterAll(async () => {
    await world.stop();
    await end();
  });
  beforeEach(async () => {
    key = randomUUID();
    world.says = makesCustomer;
  });

  afterEach(async () => {
    await store.restore();
    await eventually('the store is back', () => isTaken(randomUUID()), 30_000);
  }, 40_000);

  const isTaken = async (some: string) => (await world.post(some)).status === 201;

  it('are refused within the deadline, and carried out once after the store is back', async () => {
    // Sends a request first, so that the API key is cached and its counters exist.
    await world.post(randomUUID());
    await store.lose();
    for (let time = 0; time < 3; time++) {
      const atMs = performance.now();
      const refused = await world.post(key);
      expectProblem(refused, 'idempotency_unavailable');
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
      // One request at a time waits, in order to probe the store.
      expect(quietMsSince(atMs)).toBeLessThan(store.mostMs);
    }
    expect(world.carriedOut(key)).toBe(0);
    expect((await world.post(undefined)).status).toBe(201);
    expect((await world.post(key, { method: 'PUT', to: '/customers/cus_1' })).status).toBe(201);
    await eventually('nine of ten concurrent requests are refused without waiting', async () => {
      const refused = Array.from({ length: 10 }, async () => {
        const atMs = performance.now();
        expectProblem(await world.post(randomUUID()), 'idempotency_unavailable');
        return performance.now() - atMs < 1_000;
      });
      return (await Promise.all(refused)).filter(Boolean).length >= 9;
    });
    await store.restore();
    await eventually('the request is carried out', () => isTaken(key), 30_000);
    expect(
      world.backend.requests.filter(({ method, headers }) => method === 'POST' && headers['idempotency-key'] === key),
    ).toHaveLength(1);
    expect((await world.post(key)).headers['idempotent-replayed']).toBe('true');
  }, 60_000);

  it('get their response soon if the store fails meanwhile, and are never carried out again', async () => {
    world.says = async (request, response, recorded) => {
      await store.lose();
      await makesCustomer(request, response, recorded);
    };
    const atMs = performance.now();
    const first = await world.post(key);
    expect([first.status, first.headers['idempotency-stored']]).toEqual([201, 'false']);
    expect(quietMsSince(atMs)).toBeLessThan(2_500);
    world.says = makesCustomer;
    await store.restore();
    // A write that was sent to the store may still arrive there, with or without the response.
    const isKnown = async (): Promise<boolean> => {
      const { text, headers } = await world.post(key);
      return headers['idempotent-replayed'] === 'true' || text.includes('idempotency_not_stored');
    };
    await eventually('the store has the outcome', isKnown, 30_000);
    expect(world.carriedOut(key)).toBe(1);
  }, 60_000);

  it('lose no outcome: the gauges return to zero, and the log has the outage and its end', async () => {
    const gauge = async (name: string) =>
      seriesOf((await send(`${world.gateways[0]!.adminUrl}/metrics`)).text).get(name) ?? -1;
    await eventually(
      'all outcomes are stored',
      async () => (await gauge('trailgate_idempotency_unsaid_outcomes')) === 0,
      15_000,
    );
    expect(await gauge('trailgate_idempotency_claims')).toBe(0);
    const lines = world.gateways[0]!.logs().map(({ event }) => event);
    expect(lines).toContain('idempotency_store_lost');
    expect(lines).toContain('idempotency_store_back');
    expect(lines).not.toContain('idempotency_outcome_lost');
  }, 30_000);
}

describeWithOwnRedis('POST requests with an Idempotency-Key while Redis is', () => {
  let redis: RedisServer;
  const worldOnIt = async () => {
    redis = await startRedis();
    return startKeyedWorld('SQLite', { env: { REDIS_URL: redis.url } });
  };

  describe('frozen', () => {
    suite(worldOnIt, { lose: () => redis.pause(), restore: () => redis.resume(), mostMs: 1_000 }, () => redis.stop());
  });

  describe('full', () => {
    const limitTo = async (bytes: number): Promise<void> => {
      const operator = connectRedis(redis.url, 'operator', { warn: () => undefined });
      await redisReady(operator, 5_000);
      await operator.call('CONFIG', 'SET', 'maxmemory', bytes);
      operator.disconnect();
    };
    suite(worldOnIt, { lose: () => limitTo(1), restore: () => limitTo(0), mostMs: 1_000 }, () => redis.stop());
  });
});

describeWithPostgres('POST requests with an Idempotency-Key while PostgreSQL, used without Redis, is', () => {
  describe('unreachable', () => {
    let database: FreshDatabase;
    let proxy: TcpProxy;
    suite(
      async () => {
        database = await freshDatabase();
        const url = new URL(database.url);
        proxy = await startTcpProxy(Number(url.port));
        url.port = String(proxy.port);
        url.hostname = '127.0.0.1';
        return startKeyedWorld('SQLite', { env: { DATABASE_URL: url.href } });
      },
      { lose: () => proxy.holdRequests(), restore: () => proxy.release(), mostMs: 4_000 },
      async () => {
        await proxy.close();
        await database.drop();
      },
    );
  });
});
