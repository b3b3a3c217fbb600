/** With `--workers`, several processes share one listener, one limit and one scrape, and survive the death of one. */
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse, stringify } from 'yaml';
import { startBackend, type Backend } from '../support/backend.js';
import { childrenOf, isAlive, WORKER } from '../support/child-processes.js';
import { describeWithRedis } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { quietMsSince } from '../support/machine-time.js';
import { countRequests } from '../support/metrics-text.js';
import { eventually, sleep } from '../support/processes.js';
import { runTrailgate, startTrailgate, type RunningTrailgate } from '../support/program.js';
import { Caller } from '../support/rate-limit.js';
import { sharedRedisUrl } from '../support/redis.js';
import { startReceiver } from '../support/webhook-receiver.js';

const WORKERS = 3;
const NOTICE = 'quota.threshold_reached';
const EVENTS = 4;

describeWithRedis('a gateway of three workers', () => {
  let backend: Backend;
  let trailgate: RunningTrailgate;

  const workerPids = (): number[] => childrenOf(trailgate.pid, WORKER);
  const requestsCounted = (): Promise<number> => countRequests(trailgate.adminUrl);

  beforeAll(async () => {
    backend = await startBackend((request, response) => {
      setTimeout(() => response.end('{}'), request.url?.includes('slow') === true ? 800 : 0);
    });
    trailgate = await startTrailgate({
      backend: backend.url,
      config: {
        plans: { mixed: { account: { month: 100 }, onRedisLoss: 'closed' }, unlimited: {} },
        usage: { flushInterval: '1s' },
        webhooks: { allowHttp: true, allowPrivateNetworks: ['127.0.0.1/32'] },
      },
      env: { REDIS_URL: await sharedRedisUrl() },
      args: ['--workers', String(WORKERS)],
    });
  });
  afterAll(async () => {
    await trailgate?.stop();
    await backend?.stop();
  });

  it('runs three worker processes, and is ready', async () => {
    expect(workerPids()).toHaveLength(WORKERS);
    expect(await (await fetch(`${trailgate.adminUrl}/readyz`)).json()).toMatchObject({
      status: 'ready',
      checks: { workers: { status: 'pass' } },
    });
  });

  it('admits exactly the limit over all workers, and counts every request in one scrape', async () => {
    const { key } = await trailgate.admin.newKey('mixed');
    const before = await requestsCounted();
    const arrived = backend.requests.length;
    const caller = new Caller(trailgate.gatewayUrl, key.secret, 100);
    const statuses = await caller.burst(300);
    caller.close();
    expect(statuses).toEqual({ 200: 100, 429: 200 });
    expect(backend.requests.length - arrived).toBe(100);
    await eventually('all requests are counted', async () => (await requestsCounted()) === before + 300);
  });

  it('keeps serving and keeps its counts when a worker is killed, and replaces it', async () => {
    const { key } = await trailgate.admin.newKey('unlimited');
    const headers = { authorization: `Bearer ${key.secret}` };
    const before = await requestsCounted();
    const [victim = 0] = workerPids();
    process.kill(victim, 'SIGKILL');
    // Connections of the dead worker, accepted or queued, are reset. No request hangs, and the others keep serving.
    const url = `${trailgate.gatewayUrl}/api/v1/customers`;
    const statuses = await Promise.all(
      Array.from({ length: 20 }, () =>
        send(url, { headers, timeoutMs: 5_000 }).then(
          ({ status }) => status,
          (error: NodeJS.ErrnoException) => error.code,
        ),
      ),
    );
    expect(statuses.filter((status) => status !== 200 && status !== 'ECONNRESET')).toEqual([]);
    expect((await send(url, { headers, timeoutMs: 5_000 })).status).toBe(200);
    await eventually('the worker is replaced', () => workerPids().length === WORKERS && !workerPids().includes(victim));
    await eventually('all workers serve', async () => {
      const ready = (await (await fetch(`${trailgate.adminUrl}/readyz`)).json()) as { checks: Record<string, unknown> };
      return JSON.stringify(ready.checks['workers']) === '{"status":"pass"}';
    });
    expect(await requestsCounted()).toBeGreaterThan(before);
    expect(trailgate.logs().some(({ event, pid }) => event === 'worker_ended' && pid === victim)).toBe(true);
  });

  it('delivers a webhook about what its workers counted within a quarter of a second', async () => {
    const receiver = await startReceiver();
    try {
      const tookMs: number[] = [];
      for (let count = 1; count <= EVENTS; count++) {
        const { account, key } = await trailgate.admin.newKey('mixed');
        const url = `${receiver.url}/hook`;
        await trailgate.admin.call('POST', `/accounts/${account.id}/webhook-endpoints`, { url, event_types: [NOTICE] });
        const caller = new Caller(trailgate.gatewayUrl, key.secret, 10);
        await caller.burst(80);
        caller.close();
        await eventually('the notices arrive', () => receiver.received.length === count);
        const { body, atMs } = receiver.received.at(-1)!;
        const { timestamp } = JSON.parse(body) as { timestamp: string };
        const saidMs = Date.parse(timestamp) - performance.timeOrigin;
        tookMs.push(Math.min(quietMsSince(saidMs), atMs - saidMs));
      }
      expect(Math.max(...tookMs)).toBeLessThan(250);
    } finally {
      receiver.stop();
    }
  });

  it('lists the targets as all workers see them, and reports a worker that does not respond', async () => {
    const list = async () =>
      (await trailgate.admin.call<{ data: { processes: object; state: string; target: string }[] }>('GET', '/targets'))
        .data;
    const all = {
      target: backend.url,
      state: 'healthy',
      processes: { healthy: WORKERS, failing: 0, ejected: 0, unhealthy: 0 },
    };
    expect(await list()).toMatchObject([all]);
    const checks = async () =>
      ((await (await fetch(`${trailgate.adminUrl}/readyz`)).json()) as { checks: Record<string, unknown> }).checks;
    expect(await checks()).toMatchObject({ backends: { status: 'pass' }, quota_store: { status: 'pass' } });
    const metrics = await (await fetch(`${trailgate.adminUrl}/metrics`)).text();
    expect(metrics).toContain(
      `trailgate_upstream_targets{service="backend",target="${backend.url}",state="healthy"} 1\n`,
    );
    const [frozen = 0] = workerPids();
    process.kill(frozen, 'SIGSTOP');
    await eventually('/readyz reports the frozen worker', async () =>
      JSON.stringify((await checks())['workers']).includes('warn'),
    );
    expect(await checks()).toMatchObject({
      workers: { detail: '3 of 3 worker processes accept connections, 1 of them does not respond' },
      backends: { status: 'pass' },
    });
    expect(await list()).toMatchObject([all]);
    process.kill(frozen, 'SIGCONT');
    await eventually(
      'all workers answer again',
      async () =>
        (await checks())['workers'] !== undefined &&
        JSON.stringify((await checks())['workers']) === '{"status":"pass"}',
    );
  });

  it('applies a new configuration in every worker', async () => {
    const { key } = await trailgate.admin.newKey('unlimited');
    const headers = { authorization: `Bearer ${key.secret}` };
    const statuses = async () =>
      Promise.all(
        Array.from({ length: 40 }, async () => (await send(`${trailgate.gatewayUrl}/api/v1/new`, { headers })).status),
      );
    expect(new Set(await statuses())).toEqual(new Set([404]));
    const config = parse(readFileSync(trailgate.configPath, 'utf8')) as { operations: unknown[] };
    config.operations.push({ match: 'GET /new', service: 'backend', scopes: [] });
    writeFileSync(trailgate.configPath, stringify(config));
    for (let index = 0; index < 20; index++) trailgate.signal('SIGHUP');
    await eventually('all workers have applied the configuration', async () =>
      (await statuses()).every((status) => status === 200),
    );
    expect(workerPids()).toHaveLength(WORKERS);
  });

  it('writes only complete log lines, whichever process they come from', async () => {
    const { key } = await trailgate.admin.newKey('unlimited');
    const caller = new Caller(trailgate.gatewayUrl, key.secret, 60);
    await caller.burst(600);
    caller.close();
    await sleep(300);
    const broken = trailgate.stdout.filter((line) => {
      try {
        JSON.parse(line);
        return false;
      } catch {
        return true;
      }
    });
    expect(broken).toEqual([]);
  });

  it('answers running requests when it stops, and ends all workers', async () => {
    const { key } = await trailgate.admin.newKey('unlimited');
    const headers = { authorization: `Bearer ${key.secret}` };
    const url = `${trailgate.gatewayUrl}/api/v1/customers?slow`;
    const slow = Promise.all(Array.from({ length: 6 }, () => send(url, { headers })));
    await eventually(
      'the requests are at the backend',
      () => backend.requests.filter((each) => each.url.includes('slow')).length === 6,
    );
    const pids = workerPids();
    const exit = await trailgate.stop();
    expect((await slow).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200]);
    expect(exit.code).toBe(0);
    expect(pids.filter(isAlive)).toEqual([]);
  });
});

describe('workers', () => {
  it.each(['0', '1.5', '1000'])('are refused if their number is %s', async (count) => {
    const { code, stderr } = await runTrailgate(['start', `--workers=${count}`]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/Write auto, or a number from 1 to 256/);
  });
});
