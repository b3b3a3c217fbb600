/** A store that hangs takes no gateway out of its load balancer, because probes do not wait for it. */
import { Agent } from 'node:http';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { json, startBackend, type Backend } from '../support/backend.js';
import { childrenOf, WORKER } from '../support/child-processes.js';
import { describeWithOwnPostgres, describeWithOwnRedis } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { LoadBalancer } from '../support/load-balancer.js';
import { quietMsSince } from '../support/machine-time.js';
import { seriesOf } from '../support/metrics-text.js';
import { startPostgres, type PostgresServer } from '../support/postgres.js';
import { eventually, sleep } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';
import { startRedis, type RedisServer } from '../support/redis.js';

/** Probe timeout of the load balancer. Shorter than the statement timeout of the database. */
const PROBE_TIMEOUT_MS = 1_500;
/** Minimum time that the database hangs before the last request. Longer than the statement timeout. */
const HANGING_MS = 2_500;
const PROBES = 20;
/** Maximum time of all probes together on a quiet machine. A single probe that waited for a store would exceed it. */
const PROBES_TAKE_MS = 1_000;

type Checks = Record<string, { readonly status: string; readonly detail?: string }>;

const checksOf = async (gateway: RunningTrailgate): Promise<Checks> =>
  (await send(`${gateway.adminUrl}/readyz`)).json<{ checks: Checks }>().checks;

async function expectQuickProbes(gateway: RunningTrailgate, paths = ['/readyz', '/livez', '/metrics']): Promise<void> {
  const agent = new Agent({ keepAlive: true });
  for (const path of paths) {
    const startedMs = performance.now();
    for (let round = 0; round < PROBES; round++) {
      expect((await send(gateway.adminUrl + path, { agent })).status).toBe(200);
    }
    expect([path, quietMsSince(startedMs) < PROBES_TAKE_MS]).toEqual([path, true]);
  }
  agent.destroy();
}

describeWithOwnPostgres('with two gateways and a PostgreSQL that hangs,', () => {
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

  it('a load balancer with a /readyz timeout below the statement timeout loses no request', async () => {
    const balancer = new LoadBalancer(200, PROBE_TIMEOUT_MS);
    const agent = new Agent({ keepAlive: true, maxSockets: 20 });
    try {
      const origin = await balancer.listen();
      await balancer.use(...gateways);
      postgres.pause();
      const pausedMs = performance.now();
      const statuses = new Set<number>();
      while (performance.now() - pausedMs < HANGING_MS) {
        const answers = await Promise.all(Array.from({ length: 20 }, () => call(origin, agent)));
        for (const { status } of answers) statuses.add(status);
        await sleep(50);
      }
      expect([...statuses]).toEqual([200]);
    } finally {
      agent.destroy();
      balancer.stop();
    }
  });

  it('every probe is answered quickly, and /readyz reports since when the database is unreachable', async () => {
    const [gateway] = gateways as [RunningTrailgate];
    // The failed write may be detected before the failed reads.
    await eventually('/readyz reports that the database is unreachable', async () =>
      /^unreachable since \d{4}-.*: requests with cached keys continue/.test(
        (await checksOf(gateway))['database']?.detail ?? '',
      ),
    );
    const series = seriesOf((await send(`${gateway.adminUrl}/metrics`)).text);
    expect(series.get('trailgate_database_up{access="read"}')).toBe(0);
    expect(series.get('trailgate_database_up{access="write"}')).toBe(0);
    for (const each of gateways) await expectQuickProbes(each);
    const [lost] = gateway.logs().filter(({ event }) => event === 'database_lost');
    expect(lost).toMatchObject({ level: 'error', cause: expect.stringMatching(/no response within 2000 ms|timeout/) });
    postgres.resume();
    await eventually(
      'the database check passes',
      async () => (await checksOf(gateway))['database']?.status === 'pass',
      20_000,
    );
    await eventually('database_back is logged', () => gateway.logs().some(({ event }) => event === 'database_back'));
  });
});

describeWithOwnRedis('with Redis,', () => {
  it('a Redis that hangs is detected without a request, and delays no probe of admin and worker roles', async () => {
    const redis = await startRedis();
    const trailgate = await startTrailgate({ roles: ['admin', 'worker'], env: { REDIS_URL: redis.url } });
    try {
      expect(await checksOf(trailgate)).toMatchObject({ quota_store: { status: 'pass' } });
      redis.pause();
      await eventually(
        '/readyz reports the frozen Redis',
        async () => (await checksOf(trailgate))['quota_store']?.status === 'warn',
      );
      const up = 'trailgate_quota_store_up{store="redis"}';
      expect(seriesOf((await send(`${trailgate.adminUrl}/metrics`)).text).get(up)).toBe(0);
      await expectQuickProbes(trailgate);
      redis.resume();
      await eventually(
        'the Redis check passes',
        async () => (await checksOf(trailgate))['quota_store']?.status === 'pass',
      );
      expect(seriesOf((await send(`${trailgate.adminUrl}/metrics`)).text).get(up)).toBe(1);
    } finally {
      await trailgate.stop();
      await redis.stop();
    }
  });

  it('a worker process that hangs delays neither probes nor the metrics endpoint', async () => {
    const redis = await startRedis();
    const trailgate = await startTrailgate({ env: { REDIS_URL: redis.url }, args: ['--workers', '2'] });
    const [frozen = 0] = childrenOf(trailgate.pid, WORKER);
    try {
      process.kill(frozen, 'SIGSTOP');
      await expectQuickProbes(trailgate, ['/readyz']);
      await eventually(
        '/readyz reports the frozen worker',
        async () => (await checksOf(trailgate))['workers']?.status === 'warn',
      );
      await expectQuickProbes(trailgate);
    } finally {
      process.kill(frozen, 'SIGCONT');
      await trailgate.stop();
      await redis.stop();
    }
  });
});
