/** A gateway starts while Redis is down, as far as its plans allow. It waits for a database that is down. */
import { createServer, connect, type Server } from 'node:net';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { json, startBackend, type Backend } from '../support/backend.js';
import { describeWithOwnRedis, describeWithPostgres } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { freshDatabase, type FreshDatabase } from '../support/postgres.js';
import { eventually, freePort } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';
import { Caller } from '../support/rate-limit.js';
import { startRedis, type RedisServer } from '../support/redis.js';

const PLANS = {
  local: { account: { month: 100 }, onRedisLoss: 'local' },
  closed: { account: { month: 100 }, onRedisLoss: 'closed' },
};
const OPTIONS = { config: { plans: PLANS, usage: { flushInterval: '100ms' } } };

const readiness = async (url: string): Promise<{ status: number; checks: Record<string, { status: string }> }> => {
  const { status, text } = await send(`${url}/readyz`);
  return { status, checks: (JSON.parse(text) as { checks: Record<string, { status: string }> }).checks };
};

let backend: Backend;
beforeAll(async () => {
  backend = await startBackend(json('{}'));
});
afterAll(() => backend.stop());

describeWithOwnRedis('a gateway that starts while Redis is down', () => {
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.stop());

  const start = (more: object = {}): Promise<RunningTrailgate> =>
    startTrailgate({ ...OPTIONS, backend: backend.url, env: { REDIS_URL: redis.url }, ...more });
  const used = async (gateway: RunningTrailgate, accountId: string): Promise<number | undefined> =>
    (await gateway.admin.usage(accountId)).windows.find(({ policy }) => policy === 'account-month')?.used;

  it('continues from the counts in the database, and adds its own counts to Redis afterward', async () => {
    const first = await start();
    const { account, key } = await first.admin.newKey('local');
    const strict = await first.admin.newKey('closed');
    for (let request = 0; request < 10; request++) await new Caller(first.gatewayUrl, key.secret).get();
    await first.stop();
    await redis.kill9();

    const second = await start({ dataDir: first.dataDir });
    const caller = new Caller(second.gatewayUrl, key.secret);
    expect(await readiness(second.adminUrl)).toMatchObject({
      status: 200,
      checks: { quota_store: { status: 'warn' }, database: { status: 'pass' } },
    });
    expect(second.logs().map(({ event }) => event)).toContain('quota_store_lost');
    for (let request = 0; request < 20; request++) expect((await caller.get()).status).toBe(200);
    expect(await used(second, account.id)).toBe(30);
    expect((await new Caller(second.gatewayUrl, strict.key.secret).get()).status).toBe(503);

    await redis.restart();
    await eventually('Redis counts again', async () => {
      const { checks } = await readiness(second.adminUrl);
      return checks['quota_store']?.status === 'pass';
    });
    expect((await caller.get()).status).toBe(200);
    expect(await used(second, account.id)).toBe(31);
    expect((await new Caller(second.gatewayUrl, strict.key.secret).get()).status).toBe(200);
    await second.stop();
  });

  it('admits its share of the remaining limit, by the number of gateways that recently wrote usage', async () => {
    const first = await start();
    const { key } = await first.admin.newKey('local');
    const caller = new Caller(first.gatewayUrl, key.secret);
    expect((await caller.get()).status).toBe(200);
    await redis.kill9();
    // The first gateway writes its usage to the database while Redis is down.
    await eventually('the first gateway admits requests', async () => (await caller.get()).status === 200);
    const second = await start({ dataDir: first.dataDir, roles: ['gateway'] });
    const other = new Caller(second.gatewayUrl, key.secret);
    const statuses: number[] = [];
    for (let request = 0; request < 100; request++) statuses.push((await other.get()).status);
    const admitted = statuses.filter((status) => status === 200).length;
    expect(statuses.filter((status) => status === 429)).toHaveLength(100 - admitted);
    // Two gateways share almost 100. A gateway of the previous test may still be counted as a third one.
    expect(admitted).toBeLessThanOrEqual(50);
    expect(admitted).toBeGreaterThan(20);
    await second.stop();
    await first.stop();
    await redis.restart();
  });
});

describeWithPostgres('a gateway that starts while the database is down', () => {
  let database: FreshDatabase;
  beforeAll(async () => {
    database = await freshDatabase();
  });
  afterAll(() => database?.drop());

  /** Opens a port that forwards connections to the database. */
  async function open(port: number): Promise<Server> {
    const { hostname, port: target } = new URL(database.url);
    const server = createServer((client) => {
      const behind = connect(Number(target || 5432), hostname);
      client.pipe(behind).pipe(client);
      client.on('error', () => behind.destroy());
      behind.on('error', () => client.destroy());
    });
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return server;
  }

  it('is live but not ready until the database is reachable, and then serves', async () => {
    const [port, adminPort] = [await freePort(), await freePort()];
    const url = new URL(database.url);
    url.host = `127.0.0.1:${port}`;
    const stdout: string[] = [];
    const starting = startTrailgate({
      ...OPTIONS,
      backend: backend.url,
      env: { DATABASE_URL: url.href, TRAILGATE_ADMIN_PORT: String(adminPort) },
      stdout,
    });
    const probe = (path: string) => send(`http://127.0.0.1:${adminPort}${path}`).catch(() => undefined);
    await eventually('the waiting gateway is live', async () => (await probe('/livez'))?.status === 200);
    expect(await readiness(`http://127.0.0.1:${adminPort}`)).toMatchObject({
      status: 503,
      checks: { database: { status: 'fail' }, process: { status: 'fail' } },
    });
    await eventually('database_awaited is logged', () => stdout.some((line) => line.includes('database_awaited')));
    expect(stdout.join('\n')).toContain(`PostgreSQL at 127.0.0.1:${port} refuses connections`);

    const server = await open(port);
    const gateway = await starting;
    const { key } = await gateway.admin.newKey('local');
    expect((await new Caller(gateway.gatewayUrl, key.secret).get()).status).toBe(200);
    expect((await readiness(gateway.adminUrl)).status).toBe(200);
    await gateway.stop();
    server.close();
  });
});
