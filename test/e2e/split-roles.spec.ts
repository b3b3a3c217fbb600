/**
 * Gateways and the admin API in separate processes. Operators see what each gateway reports, with its node and the age
 * of the report.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { STATEMENT_TIMES_KEY } from '../../src/stores/redis/keys.js';
import { json, startBackend, type Backend } from '../support/backend.js';
import { describeWithOwnRedisAndPostgres, describeWithPostgres } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { seriesOf } from '../support/metrics-text.js';
import { freshDatabase, type FreshDatabase } from '../support/postgres.js';
import { eventually } from '../support/processes.js';
import { runTrailgate, startTrailgate, type RunningTrailgate } from '../support/program.js';
import { startRedis, type RedisServer } from '../support/redis.js';

interface Seen {
  readonly state: string;
  readonly processes: Readonly<Record<string, number>>;
}
interface Row extends Seen {
  readonly target: string;
  readonly nodes: readonly (Seen & { readonly node: string; readonly age_seconds: number })[];
}

let backend: Backend;
let database: FreshDatabase;
/** Programs that the current block has started. */
let running: RunningTrailgate[] = [];

async function open(): Promise<void> {
  [backend, database] = await Promise.all([startBackend(json({})), freshDatabase()]);
}

async function close(): Promise<void> {
  for (const each of running) await each.stop();
  running = [];
  await Promise.all([backend.stop(), database.drop()]);
}

const start = async (
  roles: ('gateway' | 'admin' | 'worker')[],
  env: Record<string, string> = {},
  ...args: string[]
): Promise<RunningTrailgate> => {
  const program = await startTrailgate({
    backend: backend.url,
    roles,
    args,
    env: { DATABASE_URL: database.url, ...env },
    config: { services: { backend: { health: { path: '/health', interval: '200ms' } } } },
  });
  running.push(program);
  return program;
};

const rows = async (admin: RunningTrailgate): Promise<readonly Row[]> =>
  (await admin.admin.call<{ data: Row[] }>('GET', '/targets')).data;

const portOf = ({ gatewayUrl }: RunningTrailgate): string => new URL(gatewayUrl).port;

const checksOf = async ({ adminUrl }: RunningTrailgate) =>
  (await send(`${adminUrl}/readyz`)).json<{ checks: Record<string, { status: string; detail?: string }> }>().checks;

async function table({ adminUrl, adminToken }: RunningTrailgate): Promise<string> {
  const env = { TRAILGATE_ADMIN_URL: adminUrl, TRAILGATE_ADMIN_TOKEN: adminToken };
  const { stdout, stderr, code } = await runTrailgate(['targets', 'list'], { env });
  expect([code, stderr]).toEqual([0, '']);
  return stdout;
}

describeWithPostgres('separate roles without Redis', () => {
  beforeAll(open);
  afterAll(close);

  it('show the targets in the admin process as the gateway sees them, through the database', async () => {
    const admin = await start(['admin', 'worker']);
    expect(await table(admin)).toBe('none: no gateway has reported its status in the last minute\n');
    expect((await checksOf(admin))['gateways']?.status).toBe('warn');
    const gateway = await start(['gateway']);
    await eventually('the admin process lists the target', async () => (await rows(admin)).length === 1);
    expect(await rows(admin)).toMatchObject([
      { target: backend.url, state: 'healthy', nodes: [{ node: expect.stringMatching(`:${portOf(gateway)}$`) }] },
    ]);
    const text = await table(admin);
    expect(text).toMatch(/^SERVICE +TARGET +NODE +STATE +AGE +LAST FAILURE\nbackend +\S+ +\S+ +healthy +\d+s +-\n$/);
    expect(text.split('\n').filter((line) => line.length > 80)).toEqual([]);
    await eventually('all checks pass', async () => {
      const { gateways, backends } = await checksOf(admin);
      return gateways?.status === 'pass' && backends?.status === 'pass';
    });
    await gateway.stop();
    await eventually('the admin process lists no target', async () => (await rows(admin)).length === 0);
  });
});

describeWithOwnRedisAndPostgres('separate roles with Redis', () => {
  let redis: RedisServer;
  let env: Record<string, string>;
  let admin: RunningTrailgate;
  /** Gateway that runs until a test kills it. */
  let gateway: RunningTrailgate;
  beforeAll(async () => {
    await open();
    redis = await startRedis();
    env = { REDIS_URL: redis.url };
    admin = await start(['admin', 'worker'], env);
    gateway = await start(['gateway'], env);
  });
  afterAll(async () => {
    await close();
    await redis.stop();
  });

  it('neither check gateways in /readyz of a worker, nor list the worker as a gateway', async () => {
    const worker = await start(['worker'], env);
    await eventually('the gateway check passes', async () => (await checksOf(admin))['gateways']?.status === 'pass');
    await eventually('the worker listens', () => worker.logs().some((line) => line['event'] === 'listening'));
    expect(Object.keys(await checksOf(worker))).toEqual(['process', 'database', 'quota_store', 'log']);
    expect((await rows(admin))[0]?.nodes).toHaveLength(1);
  });

  it('report a frozen Redis in the admin process, and show the last status of a gateway with its age', async () => {
    await eventually('the admin process lists the target', async () => (await rows(admin)).length === 1);
    redis.pause();
    await eventually(
      '/readyz reports the frozen Redis',
      async () => (await checksOf(admin))['quota_store']?.status === 'warn',
    );
    const up = seriesOf((await send(`${admin.adminUrl}/metrics`)).text).get('trailgate_quota_store_up{store="redis"}');
    expect(up).toBe(0);
    const ageOf = async (): Promise<number> => (await rows(admin))[0]?.nodes[0]?.age_seconds ?? NaN;
    const before = await ageOf();
    await eventually('the report of the gateway gets older', async () => (await ageOf()) > before + 2);
    expect(await rows(admin)).toMatchObject([{ target: backend.url, nodes: [{ state: 'healthy' }] }]);
    // Neither the probe nor the list of targets waits for Redis.
    for (const each of [admin, gateway]) expect((await send(`${each.adminUrl}/readyz`)).status).toBe(200);
    redis.resume();
    await eventually('a new report arrives', async () => (await ageOf()) < 3);
    await eventually('the Redis check passes', async () => (await checksOf(admin))['quota_store']?.status === 'pass');
  });

  it('show a killed gateway with its age, name it in /readyz, and forget it after a minute', async () => {
    await eventually('the gateway check passes', async () => (await checksOf(admin))['gateways']?.status === 'pass');
    await gateway.kill9();
    // Moves the last report into the past, as if the gateway had been silent for longer.
    const operator = new Redis(redis.url);
    const silentFor = async (seconds: number): Promise<void> => {
      for (const node of await operator.zrange(STATEMENT_TIMES_KEY, '0', '-1')) {
        await operator.zincrby(STATEMENT_TIMES_KEY, -seconds * 1_000, node);
      }
    };
    await silentFor(12);
    await eventually('the gateway check warns', async () => (await checksOf(admin))['gateways']?.status === 'warn');
    expect((await checksOf(admin))['gateways']?.detail).toMatch(
      new RegExp(`^no status received from \\S+:${portOf(gateway)} \\(\\d+ s\\)$`),
    );
    expect((await rows(admin))[0]?.nodes[0]?.age_seconds).toBeGreaterThanOrEqual(10);
    expect(await table(admin)).toMatch(/^backend +\S+ +\S+ +healthy +\d\ds +-$/m);
    await silentFor(60);
    await eventually('the gateway is no longer listed', async () => (await rows(admin)).length === 0);
    operator.disconnect();
    expect(await table(admin)).toBe('none: no gateway has reported its status in the last minute\n');
  });

  it('list two gateways and their processes apart, and warn of a target that is down in all of them', async () => {
    const gateways = [await start(['gateway'], env), await start(['gateway'], env, '--workers', '2')];
    // Each process of a node reports its own view.
    await eventually('all three processes report', async () => (await rows(admin))[0]?.processes['healthy'] === 3);
    const [row] = (await rows(admin)) as [Row];
    expect(row).toMatchObject({ state: 'healthy', processes: { healthy: 3, failing: 0, ejected: 0, unhealthy: 0 } });
    const seen = new Map(row.nodes.map((node) => [node.node.split(':')[1], node]));
    expect(gateways.map((gateway) => seen.get(portOf(gateway))?.processes['healthy'])).toEqual([1, 2]);
    for (const { age_seconds: age } of row.nodes) expect(age).toBeLessThan(60);
    await backend.stop();
    await eventually(
      'all three processes report an unhealthy target',
      async () => (await rows(admin))[0]?.processes['unhealthy'] === 3,
    );
    expect((await rows(admin))[0]).toMatchObject({ state: 'unhealthy', processes: { unhealthy: 3 } });
    expect((await checksOf(admin))['backends']).toEqual({
      status: 'warn',
      detail: 'no target is in service: backend',
    });
    expect(await table(admin)).toMatch(/backend +\S+ +\S+ +unhealthy +\d+s/);
  });
});
