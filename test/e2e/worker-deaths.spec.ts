/**
 * Processes of `--workers` die: one, several at once, or the first process. The others keep serving or exit, and counts
 * stay correct.
 */
import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startBackend, type Backend } from '../support/backend.js';
import { childrenOf, isAlive } from '../support/child-processes.js';
import { describeWithRedis } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { countRequests } from '../support/metrics-text.js';
import { eventually, sleep, spawnOwned, temporaryFolder } from '../support/processes.js';
import { COMPILED, startTrailgate, type RunningTrailgate } from '../support/program.js';
import { writeConfig } from '../support/program-config.js';
import { sharedRedisUrl, startRedis } from '../support/redis.js';

const WORKERS = 3;

describeWithRedis('a gateway of three workers', () => {
  let backend: Backend;
  let trailgate: RunningTrailgate;

  const ready = async (): Promise<unknown> =>
    ((await (await fetch(`${trailgate.adminUrl}/readyz`)).json()) as { checks: Record<string, unknown> }).checks[
      'workers'
    ];

  const requestsCounted = (): Promise<number> => countRequests(trailgate.adminUrl);

  beforeAll(async () => {
    backend = await startBackend((request, response) => {
      setTimeout(() => response.end('{}'), request.url?.endsWith('?slow') === true ? 800 : 0);
    });
    trailgate = await startTrailgate({
      backend: backend.url,
      env: { REDIS_URL: await sharedRedisUrl() },
      args: ['--workers', String(WORKERS)],
    });
  });
  afterAll(async () => {
    await trailgate?.stop();
    await backend?.stop();
  });

  it('keeps the other workers if none can be started, and replaces a killed one when it can', async () => {
    const limit = (files: string): void =>
      void execFileSync('prlimit', ['--pid', String(trailgate.pid), `--nofile=${files}:`]);
    const [victim = 0, ...others] = childrenOf(trailgate.pid);
    limit('10');
    process.kill(victim, 'SIGKILL');
    await eventually('worker_start_failed is logged', () =>
      trailgate.logs().some(({ event }) => event === 'worker_start_failed'),
    );
    expect(childrenOf(trailgate.pid)).toEqual(others);
    limit('4096');
    await eventually('all workers serve', async () => JSON.stringify(await ready()) === '{"status":"pass"}');
    expect(childrenOf(trailgate.pid)).toHaveLength(WORKERS);
  });

  it('replaces two workers that die at once, and then their replacements, and counts correctly', async () => {
    const restarts = async (): Promise<number> => {
      const text = await (await fetch(`${trailgate.adminUrl}/metrics`)).text();
      return Number(/^trailgate_worker_restarts_total (\d+)$/m.exec(text)?.[1] ?? 0);
    };
    const before = await restarts();
    const [survivor = 0, ...victims] = childrenOf(trailgate.pid);
    const { key } = await trailgate.admin.newKey('unlimited');
    for (let index = 0; index < 30; index++) {
      await send(`${trailgate.gatewayUrl}/api/v1/customers`, { headers: { authorization: `Bearer ${key.secret}` } });
    }
    const requests = await requestsCounted();
    expect(requests).toBe(30);
    for (const round of [1, 2]) {
      for (const pid of round === 1 ? victims : childrenOf(trailgate.pid).filter((each) => each !== survivor)) {
        process.kill(pid, 'SIGKILL');
      }
      await eventually('the workers are replaced', async () => (await restarts()) === before + 2 * round);
      await eventually('all workers serve', async () => JSON.stringify(await ready()) === '{"status":"pass"}');
    }
    // Waits long enough for a surplus worker to start.
    await sleep(500);
    expect(childrenOf(trailgate.pid)).toHaveLength(WORKERS);
    expect(await ready()).toEqual({ status: 'pass' });
    expect(await restarts()).toBe(before + 4);
    expect(await requestsCounted()).toBe(requests);
  });

  it('answers running requests, and then ends, when its first process is killed', async () => {
    const { key } = await trailgate.admin.newKey('unlimited');
    const headers = { authorization: `Bearer ${key.secret}` };
    const before = backend.requests.length;
    const slow = Promise.all(
      Array.from({ length: 6 }, () => send(`${trailgate.gatewayUrl}/api/v1/customers?slow`, { headers })),
    );
    await eventually('the requests are at the backend', () => backend.requests.length === before + 6);
    const pids = childrenOf(trailgate.pid);
    await trailgate.kill9();
    expect((await slow).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200]);
    await eventually('the workers have ended', () => !pids.some(isAlive));
  });
});

describeWithRedis('workers whose first process is killed', () => {
  it('end even if their log has no reader and Redis is gone', async () => {
    const redis = await startRedis();
    const folder = temporaryFolder('orphans');
    const config = writeConfig(folder, { targets: ['http://127.0.0.1:9'] });
    const env = {
      PATH: process.env['PATH'] ?? '',
      NODE_COMPILE_CACHE: COMPILED,
      REDIS_URL: redis.url,
      TRAILGATE_DATA_DIR: `${folder}/data`,
    };
    const args = [resolve('dist/main.js'), 'start', '--config', config, '--workers', '2'];
    const { child, end, pid } = spawnOwned(process.execPath, args, { env, cwd: folder });
    let text = '';
    child.stdout?.on('data', (chunk) => (text += String(chunk)));
    await eventually('the program listens', () => text.includes('"role":"gateway"'), 20_000);
    const pids = childrenOf(pid);
    expect(pids).toHaveLength(2);
    child.stdout?.destroy();
    child.stderr?.destroy();
    await redis.stop();
    await end('SIGKILL');
    await eventually('all processes have ended', () => !pids.some(isAlive), 30_000).finally(() => {
      for (const each of pids) if (isAlive(each)) process.kill(each, 'SIGKILL');
    });
  });
});
