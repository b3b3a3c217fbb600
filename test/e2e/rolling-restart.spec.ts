/** Two gateways behind a load balancer are restarted one after the other under load, and no client notices. */
import { Agent } from 'node:http';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startBackend, type Backend } from '../support/backend.js';
import { describeWithRedis } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { LoadBalancer } from '../support/load-balancer.js';
import { eventually, sleep } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';
import { sharedRedisUrl } from '../support/redis.js';

const CHECK_INTERVAL_MS = 100;
/** Pause of a client between two requests, so that starting programs get CPU time. */
const PAUSE_MS = 20;

describeWithRedis('two gateways behind a load balancer', () => {
  let backend: Backend;
  const running: RunningTrailgate[] = [];
  const balancer = new LoadBalancer(CHECK_INTERVAL_MS);
  let options: Parameters<typeof startTrailgate>[0];

  const started = async (more: object = {}): Promise<RunningTrailgate> => {
    const trailgate = await startTrailgate({ ...options, ...more });
    running.push(trailgate);
    return trailgate;
  };

  beforeAll(async () => {
    backend = await startBackend((_request, response) => {
      setTimeout(() => response.end('{}'), Math.random() * 60);
    });
    options = {
      backend: backend.url,
      config: { plans: { unlimited: {} }, gateway: { shutdown: { delay: '700ms' } } },
      env: { REDIS_URL: await sharedRedisUrl() },
    };
  });
  afterAll(async () => {
    balancer.stop();
    await Promise.all(running.map((each) => each.stop()));
    await backend?.stop();
  });

  it('are restarted one after the other, and every request is answered with 200', async () => {
    const first = await started();
    const second = await started({ roles: ['gateway'], dataDir: first.dataDir });
    const url = await balancer.listen();
    await balancer.use(first, second);
    const { secret } = (await first.admin.newKey('unlimited', { scopes: ['customers:*'] })).key;
    const agent = new Agent({ keepAlive: true, maxSockets: 20 });
    const headers = { authorization: `Bearer ${secret}` };
    const statuses = new Map<number, number>();
    let going = true;
    const load = Promise.all(
      Array.from({ length: 10 }, async (_, index) => {
        while (going) {
          // Includes POSTs. Nothing on the way repeats them, so a lost request is noticed.
          const sent = { headers, agent, ...(index % 2 === 0 ? {} : { method: 'POST', body: '{}' }) };
          const { status } = await send(`${url}/api/v1/customers`, sent).catch(() => ({ status: -1 }));
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
          await sleep(PAUSE_MS);
        }
      }),
    );
    await eventually('the gateways serve requests', () => (statuses.get(200) ?? 0) > 50);

    const third = await started({ dataDir: first.dataDir });
    await balancer.use(first, second, third);
    await first.stop();
    await balancer.use(second, third);
    const fourth = await started({ roles: ['gateway'], dataDir: first.dataDir });
    await balancer.use(second, third, fourth);
    await second.stop();
    await balancer.use(third, fourth);
    await sleep(300);

    going = false;
    await load;
    agent.destroy();
    expect([...statuses.keys()]).toEqual([200]);
    expect(statuses.get(200)).toBeGreaterThan(100);
  });
});
