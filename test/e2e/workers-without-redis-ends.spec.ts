/**
 * Workers without Redis that start and end in unplanned ways. The folder for temporary files is missing, roles are in
 * other processes, or the first process is killed.
 */
import { describe, expect, it } from '@jest/globals';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { startBackend } from '../support/backend.js';
import { childrenOf, isAlive, socketOf, WORKER } from '../support/child-processes.js';
import { COUNTING } from '../support/counting.js';
import { send, type Answer } from '../support/http.js';
import { eventually, temporaryFolder } from '../support/processes.js';
import { writeConfig } from '../support/program-config.js';
import { runTrailgate, startTrailgate, type RunningTrailgate } from '../support/program.js';
import { Caller } from '../support/rate-limit.js';

const LIMIT = 100;

describe('workers without Redis and without a folder for temporary files', () => {
  it('fail to start, name the missing folder, and delete nothing where they were started', async () => {
    const folder = temporaryFolder('start');
    const path = writeConfig(folder, { targets: ['http://127.0.0.1:9'], config: {} });
    writeFileSync(join(folder, 'kept.txt'), 'kept');
    const before = readdirSync(folder);
    const nowhere = join(folder, 'no-folder');
    const { code, stderr } = await runTrailgate(['start', '--config', path, '--workers', '2'], {
      env: { TRAILGATE_DATA_DIR: join(folder, 'data'), TMPDIR: nowhere },
      cwd: folder,
    });
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^trailgate: --workers 2 without REDIS_URL needs a process that counts for all of them.*\n$/,
    );
    expect(stderr).toContain(nowhere);
    expect(readdirSync(folder)).toEqual(expect.arrayContaining(before));
  });
});

describe('workers without Redis whose folder for temporary files has a relative path', () => {
  it('find the process that counts for them', async () => {
    const backend = await startBackend((_request, response) => response.end('{}'));
    const config = { plans: { month: { account: { month: LIMIT }, onRedisLoss: 'closed' } } };
    const args = ['--workers', '2'];
    const trailgate = await startTrailgate({ backend: backend.url, config, args, env: { TMPDIR: '.' } });
    const { key } = await trailgate.admin.newKey('month');
    const caller = new Caller(trailgate.gatewayUrl, key.secret, 10);
    expect(await caller.decided(10)).toEqual({ 200: 10 });
    caller.close();
    await trailgate.stop();
    await backend.stop();
  });
});

describe('workers without Redis and without a process in the worker role', () => {
  it('leave no usage in flight when they are killed, because their first process ends it', async () => {
    const backend = await startBackend(() => undefined);
    const config = { plans: { month: { account: { month: LIMIT } } }, usage: { flushInterval: '200ms' } };
    const before = await startTrailgate({ backend: backend.url, config });
    const { key } = await before.admin.newKey('month');
    await before.stop();
    const { dataDir, adminToken } = before;
    const args = ['--workers', '2'];
    const trailgate = await startTrailgate({
      backend: backend.url,
      config,
      dataDir,
      adminToken,
      roles: ['gateway'],
      args,
    });
    const headers = { authorization: `Bearer ${key.secret}` };
    const ask = () => send(`${trailgate.gatewayUrl}/api/v1/open`, { headers }).catch(() => undefined);
    const slow = Promise.all(Array.from({ length: 6 }, ask));
    await eventually('the requests are at the backend', () => backend.requests.length === 6);
    const database = new DatabaseSync(join(dataDir, 'trailgate.db'), { readOnly: true, timeout: 30_000 });
    const inFlight = () => database.prepare('select count(*) as n from usage_in_flight').get()?.['n'];
    await eventually('the requests are written as in flight', () => inFlight() !== 0);
    for (const pid of childrenOf(trailgate.pid, WORKER)) process.kill(pid, 'SIGKILL');
    await slow;
    await eventually('no request is in flight', () => inFlight() === 0);
    database.close();
    await trailgate.stop();
    await backend.stop();
  });
});

describe('workers without Redis whose first process is killed', () => {
  it('delay the start of a new process until they end, and no quota is admitted twice', async () => {
    const held: ServerResponse[] = [];
    const backend = await startBackend((request, response) => {
      if (request.url?.includes('slow') === true) held.push(response);
      else response.end('{}');
    });
    const shared = {
      backend: backend.url,
      config: {
        plans: { month: { account: { month: LIMIT }, onRedisLoss: 'closed' } },
        usage: { flushInterval: '60s' },
        gateway: { shutdown: { drain: '60s' } },
      },
      args: ['--workers', '2'],
    };
    const trailgate = await startTrailgate(shared);
    const { dataDir, adminToken } = trailgate;
    const { key } = await trailgate.admin.newKey('month');
    const caller = new Caller(trailgate.gatewayUrl, key.secret, 20);
    expect(await caller.decided(60)).toEqual({ 200: 60 });
    const headers = { authorization: `Bearer ${key.secret}` };
    // A busy machine may refuse with 503 before the backend is called. That does not count in the month.
    const ask = async (): Promise<Answer> => {
      for (;;) {
        const answer = await send(`${trailgate.gatewayUrl}/api/v1/open?slow`, { headers });
        if (answer.status !== 503 || held.length === 6) return answer;
      }
    };
    const slow = Promise.all(Array.from({ length: 6 }, ask));
    await eventually('the requests are at the backend', () => held.length === 6);
    caller.close();
    await trailgate.kill9();
    const stdout: string[] = [];
    const starting = startTrailgate({ ...shared, dataDir, adminToken, stdout });
    const usedUp = async ({ gatewayUrl }: RunningTrailgate): Promise<number> => {
      const asking = new Caller(gatewayUrl, key.secret, 20);
      const { 200: admitted = 0 } = await asking.decided(200);
      asking.close();
      return admitted;
    };
    const isWaiting = () => stdout.some((line) => line.includes('counters_in_use'));
    // A start that did not wait would listen, and admit requests whose counts are not written yet.
    const waiting = eventually('the start waits', isWaiting, 60_000).then(() => undefined);
    const early = await Promise.race([starting, waiting]);
    let admitted = early === undefined ? 0 : await usedUp(early);
    for (const response of held) response.end('{}');
    expect((await slow).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200]);
    const again = await starting;
    admitted += await usedUp(again);
    expect(admitted).toBe(LIMIT - 66);
    await again.stop();
    await backend.stop();
  });

  it('answer running requests, and all end', async () => {
    const backend = await startBackend((_request, response) => void setTimeout(() => response.end('{}'), 800));
    const trailgate = await startTrailgate({
      backend: backend.url,
      config: { plans: { month: { account: { month: LIMIT } } } },
      args: ['--workers', '2'],
    });
    const { key } = await trailgate.admin.newKey('month');
    const headers = { authorization: `Bearer ${key.secret}` };
    const slow = Promise.all(Array.from({ length: 6 }, () => send(`${trailgate.gatewayUrl}/api/v1/open`, { headers })));
    await eventually('the requests are at the backend', () => backend.requests.length === 6);
    const [counting = 0] = childrenOf(trailgate.pid, COUNTING);
    const socket = socketOf(counting);
    const pids = [...childrenOf(trailgate.pid, WORKER), counting];
    expect(pids).toHaveLength(3);
    await trailgate.kill9();
    expect((await slow).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200]);
    await eventually('all processes have ended', () => !pids.some(isAlive), 30_000);
    expect(existsSync(dirname(socket))).toBe(false);
    await backend.stop();
  });
});
