/** Two gateways are upgraded to the next version and back under load: no request fails, is lost or is counted twice. */
import { Agent } from 'node:http';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startBackend, type Backend } from '../support/backend.js';
import { describeWithBoth } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { LoadBalancer } from '../support/load-balancer.js';
import { makeNextVersion, NEXT_MIGRATION, NEXT_VERSION } from '../support/next-version.js';
import { freshDatabase, type FreshDatabase } from '../support/postgres.js';
import { eventually, sleep } from '../support/processes.js';
import { runTrailgate, startTrailgate, type RunningTrailgate } from '../support/program.js';
import { sharedRedisUrl } from '../support/redis.js';
import { VERSION } from '../../src/platform/version.js';

const CHECK_INTERVAL_MS = 100;
/** Pause of a client between two requests, so that starting programs get CPU time. */
const PAUSE_MS = 20;
const CLIENTS = 8;

describeWithBoth('two gateways on one database', () => {
  let backend: Backend;
  let database: FreshDatabase;
  let received = 0;
  const running: RunningTrailgate[] = [];
  const balancer = new LoadBalancer(CHECK_INTERVAL_MS);
  let options: Parameters<typeof startTrailgate>[0];

  const started = async (main?: string): Promise<RunningTrailgate> => {
    const trailgate = await startTrailgate({ ...options, ...(main === undefined ? {} : { main }) });
    running.push(trailgate);
    return trailgate;
  };

  beforeAll(async () => {
    [backend, database] = await Promise.all([
      startBackend((_request, response) => {
        received += 1;
        response.end('{}');
      }),
      freshDatabase(),
    ]);
    options = {
      backend: backend.url,
      adminToken: 'test-admin-of-both-versions-0123456789',
      config: { plans: { unlimited: {} }, gateway: { shutdown: { delay: '700ms' } }, usage: { flushInterval: '1s' } },
      env: {
        REDIS_URL: await sharedRedisUrl(),
        DATABASE_URL: database.url,
        TRAILGATE_SECRETS_KEY: Buffer.alloc(32, 7).toString('base64'),
      },
    };
  });
  afterAll(async () => {
    balancer.stop();
    await Promise.all(running.map((each) => each.stop()));
    await backend?.stop();
    await database?.drop();
  });

  it('are upgraded and downgraded one after the other, and each request is answered and counted once', async () => {
    const next = makeNextVersion(VERSION);
    let members = [await started(), await started()];
    const url = await balancer.listen();
    await balancer.use(...members);
    const { account, key } = await members[0]!.admin.newKey('unlimited', { scopes: ['customers:*'] });
    const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
    const sent = { headers: { authorization: `Bearer ${key.secret}` }, agent, method: 'POST', body: '{}' };
    const statuses = new Map<number, number>();
    let isLoaded = true;
    const load = Promise.all(
      Array.from({ length: CLIENTS }, async () => {
        while (isLoaded) {
          const { status } = await send(`${url}/api/v1/customers`, sent).catch(() => ({ status: -1 }));
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
          await sleep(PAUSE_MS);
        }
      }),
    );
    await eventually('the gateways serve requests', () => (statuses.get(200) ?? 0) > 50);

    const versions: unknown[] = [];
    for (const main of [next, next, undefined, undefined]) {
      const [oldest, other] = members as [RunningTrailgate, RunningTrailgate];
      const replacement = await started(main);
      versions.push(replacement.logs().find(({ event }) => event === 'starting')?.['version']);
      await balancer.use(oldest, other, replacement);
      await oldest.stop();
      members = [other, replacement];
      await balancer.use(...members);
      // Lets both versions serve together for a while.
      await sleep(500);
    }
    isLoaded = false;
    await load;
    agent.destroy();

    expect(versions).toEqual([NEXT_VERSION, NEXT_VERSION, VERSION, VERSION]);
    expect([...statuses.keys()]).toEqual([200]);
    const answered = statuses.get(200);
    expect(received).toBe(answered);
    const used = async (): Promise<number> => {
      const path = `/accounts/${account.id}/usage?group_by=month`;
      const { data } = await members[1]!.admin.call<{ data: { requests: number }[] }>('GET', path);
      return data.reduce((sum, { requests }) => sum + requests, 0);
    };
    await eventually('usage is written', async () => (await used()) === answered, 20_000);
    const newer = members[1]!.logs().find(({ event }) => event === 'database_newer');
    expect(newer).toMatchObject({ level: 'warn', migration: NEXT_MIGRATION });
  });

  it('cannot start with a version that does not support the migrations of a later one', async () => {
    const own = await freshDatabase();
    const isolated = { ...options!.env, DATABASE_URL: own.url };
    const later = await startTrailgate({ ...options, env: isolated, main: makeNextVersion(NEXT_VERSION) });
    await later.stop();
    const env = { ...isolated, TRAILGATE_DATA_DIR: later.dataDir, TRAILGATE_ADMIN_TOKEN: later.adminToken };
    const { code, stderr } = await runTrailgate(['start', '--config', later.configPath], { env });
    await own.drop();
    expect(code).toBe(1);
    expect(stderr).toContain(`it has migration ${NEXT_MIGRATION}`);
  });
});
