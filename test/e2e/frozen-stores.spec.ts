/** A store that hangs takes no gateway out of its load balancer: probes are answered from what is known. */
import { execFileSync } from 'node:child_process';
import { Agent } from 'node:http';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { json, startBackend, type Backend } from '../support/backend.js';
import { describeWithOwnPostgres, describeWithOwnRedis } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { LoadBalancer } from '../support/load-balancer.js';
import { seriesOf } from '../support/metrics-text.js';
import { startPostgres, type PostgresServer } from '../support/postgres.js';
import { eventually, sleep } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';
import { startRedis, type RedisServer } from '../support/redis.js';

const PROBE_TIMEOUT_MS = 500;
/** What a probe may take at most on a machine that others use as well; a store that was asked would take seconds. */
const LONGEST_PROBE_MS = 400;
const USUAL_PROBE_MS = 50;

type Checks = Record<string, { readonly status: string; readonly detail?: string }>;

const checksOf = async (gateway: RunningTrailgate): Promise<Checks> =>
  (await send(`${gateway.adminUrl}/readyz`)).json<{ checks: Checks }>().checks;

/** How long each of many probes took, the shortest first. */
async function probe(gateway: RunningTrailgate, path: string, count: number): Promise<number[]> {
  const agent = new Agent({ keepAlive: true });
  const times: number[] = [];
  for (let round = 0; round < count; round++) {
    const startedMs = performance.now();
    const { status } = await send(gateway.adminUrl + path, { agent });
    times.push(performance.now() - startedMs);
    expect(status).toBe(200);
    await sleep(20);
  }
  agent.destroy();
  return times.toSorted((a, b) => a - b);
}

async function expectQuickProbes(gateway: RunningTrailgate): Promise<void> {
  for (const path of ['/readyz', '/livez', '/metrics']) {
    const times = await probe(gateway, path, 60);
    expect([path, times[30]! < USUAL_PROBE_MS]).toEqual([path, true]);
    expect([path, times.at(-1)! < LONGEST_PROBE_MS]).toEqual([path, true]);
  }
}

describeWithOwnPostgres('two gateways behind a load balancer, and a PostgreSQL that hangs', () => {
  let backend: Backend;
  let postgres: PostgresServer;
  let redis: RedisServer;
  let gateways: RunningTrailgate[];
  let secret: string;

  beforeAll(async () => {
    [backend, postgres, redis] = await Promise.all([startBackend(json({ data: [] })), startPostgres(), startRedis()]);
    const env = { DATABASE_URL: await postgres.createDatabase('trailgate'), REDIS_URL: redis.url };
    const options = { backend: backend.url, env, config: { plans: { unlimited: {} } } };
    gateways = [
      await startTrailgate({ ...options, roles: ['gateway', 'admin', 'worker'] }),
      await startTrailgate({ ...options, roles: ['gateway'] }),
    ];
    ({ secret } = (await gateways[0]!.admin.newKey('unlimited')).key);
    for (const gateway of gateways) await call(gateway.gatewayUrl);
  });
  afterAll(async () => {
    postgres.resume();
    for (const gateway of gateways) await gateway.stop();
    await Promise.all([backend.stop(), postgres.stop(), redis.stop()]);
  });

  const call = (origin: string, agent?: Agent) =>
    send(`${origin}/api/v1/customers`, {
      headers: { Authorization: `Bearer ${secret}` },
      ...(agent === undefined ? {} : { agent }),
    });

  it('a balancer that waits 500 ms for /readyz loses none of 2,000 requests', async () => {
    const balancer = new LoadBalancer(200, PROBE_TIMEOUT_MS);
    const agent = new Agent({ keepAlive: true, maxSockets: 20 });
    try {
      const origin = await balancer.listen();
      await balancer.use(...gateways);
      postgres.pause();
      const statuses: Record<number, number> = {};
      for (let sent = 0; sent < 2_000; sent += 50) {
        const answers = await Promise.all(Array.from({ length: 50 }, () => call(origin, agent)));
        for (const { status } of answers) statuses[status] = (statuses[status] ?? 0) + 1;
        await sleep(200);
      }
      expect(statuses).toEqual({ 200: 2_000 });
    } finally {
      agent.destroy();
      balancer.stop();
    }
  });

  it('every probe is answered at once, and /readyz says since when the database is away', async () => {
    const [gateway] = gateways as [RunningTrailgate];
    await eventually('it is known', async () => (await checksOf(gateway))['database']?.status === 'warn');
    expect((await checksOf(gateway))['database']?.detail).toMatch(/^unreachable since \d{4}-.*: known keys go on/);
    const series = seriesOf((await send(`${gateway.adminUrl}/metrics`)).text);
    expect(series.get('trailgate_database_up{access="read"}')).toBe(0);
    expect(series.get('trailgate_database_up{access="write"}')).toBe(0);
    for (const each of gateways) await expectQuickProbes(each);
    const [lost] = gateway.logs().filter(({ event }) => event === 'database_lost');
    expect(lost).toMatchObject({ level: 'error', cause: expect.stringMatching(/no response within 2000 ms|timeout/) });
    postgres.resume();
    await eventually('it is back', async () => (await checksOf(gateway))['database']?.status === 'pass', 20_000);
    await eventually('it is told', () => gateway.logs().some(({ event }) => event === 'database_back'));
  });
});

describeWithOwnRedis('a Redis that hangs', () => {
  it('is noticed without a request, in every role, and no probe waits for it', async () => {
    const redis = await startRedis();
    const trailgate = await startTrailgate({ roles: ['admin', 'worker'], env: { REDIS_URL: redis.url } });
    try {
      expect(await checksOf(trailgate)).toMatchObject({ quota_store: { status: 'pass' } });
      redis.pause();
      await eventually('it is known', async () => (await checksOf(trailgate))['quota_store']?.status === 'warn');
      const up = 'trailgate_quota_store_up{store="redis"}';
      expect(seriesOf((await send(`${trailgate.adminUrl}/metrics`)).text).get(up)).toBe(0);
      await expectQuickProbes(trailgate);
      redis.resume();
      await eventually('it is back', async () => (await checksOf(trailgate))['quota_store']?.status === 'pass');
      expect(seriesOf((await send(`${trailgate.adminUrl}/metrics`)).text).get(up)).toBe(1);
    } finally {
      await trailgate.stop();
      await redis.stop();
    }
  });

  it('and a worker process that hangs holds up neither probe nor scrape', async () => {
    const redis = await startRedis();
    const trailgate = await startTrailgate({ env: { REDIS_URL: redis.url }, args: ['--workers', '2'] });
    const pids = execFileSync('ps', ['-o', 'pid=', '--ppid', String(trailgate.pid)], { encoding: 'utf8' });
    const frozen = Number(pids.trim().split('\n')[0]);
    try {
      process.kill(frozen, 'SIGSTOP');
      const [longest] = (await probe(trailgate, '/readyz', 100)).toReversed();
      expect(longest).toBeLessThan(LONGEST_PROBE_MS);
      await eventually('it is known', async () => (await checksOf(trailgate))['workers']?.status === 'warn');
      await expectQuickProbes(trailgate);
    } finally {
      process.kill(frozen, 'SIGCONT');
      await trailgate.stop();
      await redis.stop();
    }
  });
});
