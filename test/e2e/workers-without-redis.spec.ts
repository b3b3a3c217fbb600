/**
 * `--workers` on a machine without any server. A separate counting process counts for all workers. There is one limit
 * and one view of revoked keys, and no count is lost with a worker.
 */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startBackend, type Backend } from '../support/backend.js';
import { childrenOf, isAlive, socketOf, WORKER } from '../support/child-processes.js';
import { COUNTING } from '../support/counting.js';
import { send } from '../support/http.js';
import { eventually } from '../support/processes.js';
import { runTrailgate, startTrailgate, type RunningTrailgate } from '../support/program.js';
import { Caller } from '../support/rate-limit.js';

const WORKERS = 2;
const LIMIT = 100;
const SOON_MS = 1_000;
/** Number of kills. More than one, because what only one worker knows differs each time. */
const KILLS = 2;

/**
 * Sends requests until at least `least` are admitted and all others are refused. Returns the number of admitted ones.
 */
async function admittedOn(caller: Caller, least: number): Promise<number> {
  let admitted = 0;
  const ask = async (): Promise<boolean> => {
    const { 200: more = 0, 429: refused = 0 } = await caller.burst(40);
    admitted += more;
    return refused === 40 && admitted >= least;
  };
  await eventually(`${least} are admitted, and the others refused`, ask, 30_000);
  return admitted;
}

describe('a gateway of two workers without Redis', () => {
  let backend: Backend;
  let trailgate: RunningTrailgate;
  const workerPids = (): number[] => childrenOf(trailgate.pid, WORKER);
  const countingPid = (): number => childrenOf(trailgate.pid, COUNTING)[0] ?? 0;
  const checks = async (): Promise<Record<string, { status: string; detail?: string }>> =>
    ((await (await fetch(`${trailgate.adminUrl}/readyz`)).json()) as { checks: Record<string, { status: string }> })
      .checks;
  const metric = async (name: string): Promise<number> => {
    const text = await (await fetch(`${trailgate.adminUrl}/metrics`)).text();
    return [...text.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\d+)$`, 'gm'))].reduce(
      (sum, [, n]) => sum + Number(n),
      0,
    );
  };
  const allServe = async (): Promise<boolean> => {
    const { workers, quota_store: store } = await checks();
    return workers?.status === 'pass' && store?.status === 'pass' && workerPids().length === WORKERS;
  };

  beforeAll(async () => {
    backend = await startBackend((request, response) => {
      setTimeout(() => response.end('{}'), request.url?.includes('slow') === true ? 800 : 0);
    });
    trailgate = await startTrailgate({
      backend: backend.url,
      config: {
        plans: {
          minute: { account: { minute: LIMIT }, onRedisLoss: 'closed' },
          month: { account: { month: LIMIT }, onRedisLoss: 'closed' },
          kept: { account: { month: LIMIT }, onRedisLoss: 'local' },
          unlimited: {},
          local: { key: { minute: 60_000 }, onRedisLoss: 'local' },
        },
        // Only workers write counts to the database, and only every minute.
        usage: { flushInterval: '60s' },
      },
      args: ['--workers', String(WORKERS)],
    });
  });
  afterAll(async () => {
    await trailgate?.stop();
    await backend?.stop();
  });
  beforeEach(() => eventually('all workers serve', allServe, 30_000));

  it('has one counting process, and a metric of the workers that share the limits', async () => {
    expect(workerPids()).toHaveLength(WORKERS);
    expect(childrenOf(trailgate.pid, COUNTING)).toHaveLength(1);
    await eventually('both workers share the limits', async () => (await metric('trailgate_quota_nodes')) === WORKERS);
  });

  it.each(['minute', 'month'])('admits exactly the limit of a %s out of 500 concurrent requests', async (plan) => {
    const { account, key } = await trailgate.admin.newKey(plan);
    const arrived = backend.requests.length;
    const caller = new Caller(trailgate.gatewayUrl, key.secret, 250);
    expect(await caller.decided(500)).toEqual({ 200: LIMIT, 429: 500 - LIMIT });
    expect(backend.requests.length - arrived).toBe(LIMIT);
    // Usage is exact at once, whichever worker counted.
    expect((await caller.used())[`account-${plan}`]).toBe(LIMIT);
    expect(JSON.stringify(await trailgate.admin.usage(account.id))).toContain(`"used":${LIMIT}`);
    caller.close();
  });

  it('refuses a revoked key in both workers within a second', async () => {
    const { key } = await trailgate.admin.newKey('unlimited');
    const status = async (): Promise<number> =>
      // Opens a new connection, which can reach either worker.
      (await send(`${trailgate.gatewayUrl}/api/v1/open`, { headers: { authorization: `Bearer ${key.secret}` } }))
        .status;
    const twenty = () => Promise.all(Array.from({ length: 20 }, status));
    expect(new Set(await twenty())).toEqual(new Set([200]));
    await trailgate.admin.revokeKey(key.id);
    await eventually(
      'both workers refuse the key',
      async () => (await twenty()).every((each) => each === 401),
      SOON_MS,
    );
    expect(new Set(await twenty())).toEqual(new Set([401]));
  });

  it('sends a POST with an Idempotency-Key to the backend once, whichever worker gets it', async () => {
    const { key } = await trailgate.admin.newKey('unlimited');
    const headers = {
      authorization: `Bearer ${key.secret}`,
      'idempotency-key': randomUUID(),
      'content-type': 'application/json',
    };
    const arrived = backend.requests.length;
    const post = () => send(`${trailgate.gatewayUrl}/api/v1/customers`, { method: 'POST', headers, body: '{}' });
    const statuses = (await Promise.all(Array.from({ length: 20 }, post))).map(({ status }) => status);
    expect(statuses.filter((status) => status !== 200 && status !== 409)).toEqual([]);
    expect(backend.requests.length - arrived).toBe(1);
  });

  it('loses no count when a worker is killed', async () => {
    const { key } = await trailgate.admin.newKey('month');
    const caller = new Caller(trailgate.gatewayUrl, key.secret, 40);
    expect(await caller.decided(60)).toEqual({ 200: 60 });
    process.kill(workerPids()[0]!, 'SIGKILL');
    caller.close();
    await eventually('the worker is replaced', allServe);
    const again = new Caller(trailgate.gatewayUrl, key.secret, 40);
    expect(await again.decided(200)).toEqual({ 200: 40, 429: 160 });
    again.close();
  });

  it('admits no quota twice when the counting process is killed between requests', async () => {
    const other = await trailgate.admin.newKey('unlimited');
    for (let round = 0; round < KILLS; round++) {
      const { key } = await trailgate.admin.newKey('month');
      // Each caller has one connection, and so its own worker. The first worker has not seen what the second counted.
      const [first, second] = [1, 1].map((count) => new Caller(trailgate.gatewayUrl, key.secret, count));
      expect(await first!.decided(20)).toEqual({ 200: 20 });
      expect(await second!.decided(40)).toEqual({ 200: 40 });
      // Late counts are refunded after a moment.
      await eventually('late counts are refunded', async () => (await second!.used())['account-month'] === 60);
      const restarts = await metric('trailgate_worker_restarts_total');
      const victim = countingPid();
      process.kill(victim, 'SIGKILL');
      // A plan without limits does not need the counting process.
      const free = new Caller(trailgate.gatewayUrl, other.key.secret, 10);
      expect(await free.burst(50)).toEqual({ 200: 50 });
      free.close();
      expect(await admittedOn(first!, LIMIT - 60)).toBe(LIMIT - 60);
      for (const caller of [first!, second!]) caller.close();
      expect(countingPid()).not.toBe(victim);
      expect(await metric('trailgate_worker_restarts_total')).toBe(restarts + 1);
      await eventually('all workers serve', allServe);
    }
    expect(trailgate.logs().some(({ event }) => event === 'counting_process_ended')).toBe(true);
  });

  it('admits at most the monthly limit when the counting process is killed during requests', async () => {
    for (let round = 0; round < KILLS; round++) {
      const { key } = await trailgate.admin.newKey('month');
      const caller = new Caller(trailgate.gatewayUrl, key.secret, 20);
      const arrived = backend.requests.length;
      const burst = caller.burst(LIMIT);
      await eventually('some requests have arrived', () => backend.requests.length > arrived + 10);
      process.kill(countingPid(), 'SIGKILL');
      const { 200: before = 0, 503: undecided = 0 } = await burst;
      // A request that was counted but got no decision may stay counted.
      const after = await admittedOn(caller, LIMIT - before - undecided);
      expect(before + after).toBeLessThanOrEqual(LIMIT);
      expect(backend.requests.length - arrived).toBe(before + after);
      caller.close();
      await eventually('all workers serve', allServe);
    }
  });

  it('follows onRedisLoss of each plan while the counting process is frozen', async () => {
    const closed = await trailgate.admin.newKey('month');
    const local = await trailgate.admin.newKey('local');
    const callers = [closed, local].map(({ key }) => new Caller(trailgate.gatewayUrl, key.secret, 40));
    for (const caller of callers) expect(await caller.decided(10)).toEqual({ 200: 10 });
    let admitted = 10;
    const pid = countingPid();
    process.kill(pid, 'SIGSTOP');
    try {
      await eventually(
        '/readyz reports the frozen counting process',
        async () => (await checks())['quota_store']?.status === 'warn',
      );
      expect((await checks())['quota_store']?.detail).toContain('the counting process is lost since');
      const statuses = await callers[0]!.burst(20);
      admitted += statuses[200] ?? 0;
      expect(await callers[1]!.burst(20)).toEqual({ 200: 20 });
      // The counting process may have been replaced meanwhile, and its replacement may have admitted some.
      expect(isAlive(pid) ? statuses : { 503: 20 }).toEqual({ 503: 20 });
    } finally {
      if (isAlive(pid)) process.kill(pid, 'SIGCONT');
    }
    await eventually('all workers serve', allServe);
    expect(await callers[0]!.decided(200)).toEqual({ 200: LIMIT - admitted, 429: 200 - LIMIT + admitted });
    for (const caller of callers) caller.close();
  });

  it('does not mention Redis in logs and metrics after the counting process was lost', async () => {
    // Leaves out stacks. They contain file names, including those of the Redis client.
    const withoutStacks = (name: string, value: unknown): unknown => (name === 'stack' ? undefined : value);
    const lines = trailgate.logs().map((line) => JSON.stringify(line, withoutStacks));
    expect(lines.some((line) => line.includes('counting_process_ended'))).toBe(true);
    expect(lines.some((line) => line.includes('quota_store_lost'))).toBe(true);
    // Leaves out the name of the setting, which contains "Redis".
    const words = lines.filter((line) => /redis/i.test(line.replaceAll('onRedisLoss', '')));
    expect(words).toEqual([]);
    const metrics = await (await fetch(`${trailgate.adminUrl}/metrics`)).text();
    expect(metrics.split('\n').filter((line) => /^# HELP trailgate_quota.*redis/i.test(line))).toEqual([]);
  });

  it('does not share its data folder with a second start', async () => {
    const env = { TRAILGATE_DATA_DIR: trailgate.dataDir, TRAILGATE_ADMIN_TOKEN: trailgate.adminToken };
    const args = ['start', '--config', trailgate.configPath, '--workers', '2'];
    const { code, stderr } = await runTrailgate(args, { env });
    expect(code).toBe(1);
    expect(stderr).toContain('in use by process');
  });

  it('stops cleanly: running requests are answered and counted, and no process or socket is left', async () => {
    const { key } = await trailgate.admin.newKey('kept');
    const headers = { authorization: `Bearer ${key.secret}` };
    const slow = Promise.all(
      Array.from({ length: 6 }, () => send(`${trailgate.gatewayUrl}/api/v1/open?slow`, { headers })),
    );
    const isUnderWay = () => backend.requests.filter(({ url }) => url.includes('slow')).length === 6;
    await eventually('the requests are running', isUnderWay);
    const pids = [...workerPids(), countingPid()];
    const socket = socketOf(countingPid());
    expect(existsSync(socket)).toBe(true);
    expect((await trailgate.stop()).code).toBe(0);
    expect((await slow).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200]);
    expect(pids.filter(isAlive)).toEqual([]);
    expect(existsSync(dirname(socket))).toBe(false);
    const alone = await startTrailgate({
      backend: backend.url,
      dataDir: trailgate.dataDir,
      config: { plans: { kept: { account: { month: LIMIT } }, month: {}, unlimited: {}, minute: {}, local: {} } },
    });
    const caller = new Caller(alone.gatewayUrl, key.secret, 20);
    expect(await caller.burst(120)).toEqual({ 200: LIMIT - 6, 429: 120 - LIMIT + 6 });
    caller.close();
    await alone.stop();
  });
});
