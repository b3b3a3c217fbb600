/** The built counting process: private, replaced when it dies or hangs, and gone when the program is gone. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Redis } from 'ioredis';
import { pino, type Logger } from 'pino';
import { PASSING_SINK } from '../../src/quota/model/decision-sink.js';
import { RedisCounters } from '../../src/quota/redis/redis-counters.js';
import { systemClock } from '../../src/platform/clock.js';
import { CountingChild } from '../../src/program/workers/counting-child.js';
import { childrenOf } from '../support/child-processes.js';
import { COUNTING, COUNTING_PROGRAM, countingClient } from '../support/counting.js';
import { admittedOf, repeat } from '../support/counter-stores.js';
import { eventually, temporaryFolder } from '../support/processes.js';
import { FixedMonths, subjectWith } from '../support/quotas.js';
import { PATIENT_DEADLINE_MS } from '../support/timed-redis.js';

const EVERYBODY_ELSE = 0o077;
const WORKERS = 2;

describe('the counting process', () => {
  let lines: { event: string; missing?: number; err?: { message: string } }[];
  let log: Logger;
  let child: CountingChild;
  let path: string;
  let client: Redis;
  const pids = (): number[] => childrenOf(process.pid, COUNTING);
  const logged = (event: string): boolean => lines.some((line) => line.event === event);
  beforeEach(async () => {
    lines = [];
    log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line) as { event: string }) });
    child = new CountingChild(WORKERS, undefined, log, { program: COUNTING_PROGRAM, askIntervalMs: 50 });
    path = await child.start();
    client = await countingClient(path);
  });
  afterEach(async () => {
    client.disconnect();
    await child.stop();
  });
  const countersOf = (of: Redis): RedisCounters =>
    new RedisCounters(of, systemClock, new FixedMonths(), PASSING_SINK, PATIENT_DEADLINE_MS);

  it('listens in a folder that other users cannot access', () => {
    expect(statSync(dirname(path)).mode & EVERYBODY_ELSE).toBe(0);
  });

  it('admits exactly the limit for concurrent requests of several nodes', async () => {
    const clients = await Promise.all(repeat(3, () => countingClient(path)));
    const stores = clients.map(countersOf);
    const decisions = repeat(500, (index) => {
      const subject = subjectWith({ accountMonth: 100 }, { accountId: 'acc_1', keyId: `key_${index % 7}` });
      return stores[index % 3]!.decide(subject, 1);
    });
    expect(admittedOf(await Promise.all(decisions))).toBe(100);
    for (const each of clients) each.disconnect();
  });

  it('is replaced at the same path when it is killed, and counts without reports after a warning', async () => {
    const [victim = 0] = pids();
    process.kill(victim, 'SIGKILL');
    await eventually('a replacement answers PING', async () => (await client.ping().catch(() => '')) === 'PONG');
    expect(pids()).not.toContain(victim);
    expect(pids()).toHaveLength(1);
    expect(logged('counting_process_ended')).toBe(true);
    // No worker reports its counts. The process decides anyway, and logs that reports are missing.
    await eventually(
      'the counting process decides',
      async () => (await client.set('tg:probe', '').catch(() => '')) === 'OK',
    );
    await eventually('counting_process_incomplete is logged', () => logged('counting_process_incomplete'));
    expect(lines.find(({ event }) => event === 'counting_process_incomplete')?.missing).toBe(WORKERS);
    const store = countersOf(client);
    expect((await store.decide(subjectWith({ accountMonth: 1 }), 1)).admitted).toBe(true);
  });

  it('is replaced when it hangs', async () => {
    const [victim = 0] = pids();
    process.kill(victim, 'SIGSTOP');
    await eventually('counting_process_hangs is logged', () => logged('counting_process_hangs'));
    await eventually('a replacement answers PING', async () => (await client.ping().catch(() => '')) === 'PONG');
    expect(pids()).not.toContain(victim);
  });

  it('is replaced even after its folder was deleted, and the new folder is private', async () => {
    rmSync(dirname(path), { recursive: true });
    process.kill(pids()[0]!, 'SIGKILL');
    await eventually('a replacement answers PING', async () => (await client.ping().catch(() => '')) === 'PONG');
    expect(statSync(dirname(path)).mode & EVERYBODY_ELSE).toBe(0);
  });

  it('logs why it cannot be replaced, and is replaced once that is possible', async () => {
    rmSync(path);
    mkdirSync(path);
    process.kill(pids()[0]!, 'SIGKILL');
    await eventually('counting_process_start_failed is logged', () => logged('counting_process_start_failed'));
    expect(lines.find(({ event }) => event === 'counting_process_start_failed')?.err?.message).toContain(path);
    rmdirSync(path);
    await eventually('a replacement answers PING', async () => (await client.ping().catch(() => '')) === 'PONG');
  });

  it('is not replaced while others can write to its folder', async () => {
    chmodSync(dirname(path), 0o777);
    process.kill(pids()[0]!, 'SIGKILL');
    await eventually('counting_process_start_failed is logged', () => logged('counting_process_start_failed'));
    expect(pids()).toEqual([]);
    chmodSync(dirname(path), 0o700);
    await eventually('a replacement answers PING', async () => (await client.ping().catch(() => '')) === 'PONG');
  });

  it('logs that the program must be restarted when its files were replaced', async () => {
    const program = join(temporaryFolder('upgraded'), 'counting-process.mjs');
    writeFileSync(
      program,
      "process.send({ type: 'listening', lua: 'of another version' }); setInterval(() => {}, 1000);",
    );
    const replaced = new CountingChild(WORKERS, undefined, log, { program, askIntervalMs: 50 });
    await replaced.start();
    expect(logged('counting_process_other_version')).toBe(true);
    await replaced.stop();
  });

  it('stops without an error while a replacement is starting', async () => {
    const program = join(temporaryFolder('slow'), 'counting-process.mjs');
    // The first process reports that it listens, and exits. Its replacement does neither.
    const source =
      "if (process.argv[2] === '0') process.send({ type: 'listening' }, () => process.exit()); setInterval(() => {}, 1e6);";
    writeFileSync(program, source);
    const replaced = new CountingChild(WORKERS, undefined, log, { program });
    await replaced.start();
    await eventually('a replacement is started', () => childrenOf(process.pid, `${program} ${WORKERS}`).length === 1);
    await replaced.stop();
    expect(logged('counting_process_ended')).toBe(true);
    expect(logged('counting_process_start_failed')).toBe(false);
  });

  it('ignores SIGINT, SIGTERM and SIGHUP', async () => {
    const [pid = 0] = pids();
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.kill(pid, name);
    expect(await client.ping()).toBe('PONG');
    expect(pids()).toEqual([pid]);
  });

  it('exits and deletes its folder when it is stopped', async () => {
    await child.stop();
    expect(pids()).toEqual([]);
    expect(existsSync(dirname(path))).toBe(false);
    expect(logged('counting_process_ended')).toBe(false);
  });
});

describe('a counting process whose parent is gone', () => {
  const startAlone = (path: string): ChildProcess =>
    fork(COUNTING_PROGRAM, ['0', path, ''], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  let path: string;
  beforeEach(() => {
    path = join(temporaryFolder('orphan'), 'folder', 'counters');
    mkdirSync(dirname(path), { mode: 0o700 });
  });

  it('exits and deletes its folder even when the parent went before it listened', async () => {
    const child = startAlone(path);
    child.disconnect();
    await once(child, 'exit');
    expect(existsSync(dirname(path))).toBe(false);
  });

  it('exits and deletes its folder once no client is connected', async () => {
    const child = startAlone(path);
    await once(child, 'message');
    const client = await countingClient(path);
    const ended = once(child, 'exit');
    child.disconnect();
    expect(await client.ping()).toBe('PONG');
    client.disconnect();
    expect(await ended).toEqual([0, null]);
    expect(existsSync(dirname(path))).toBe(false);
  });
});

describe('a counting process that cannot be started', () => {
  it('reports that it did not listen in time', async () => {
    const program = join(temporaryFolder('slow'), 'counting-process.mjs');
    writeFileSync(program, 'setInterval(() => {}, 1e6);');
    const child = new CountingChild(WORKERS, undefined, pino({ level: 'silent' }), { program, startTimeoutMs: 100 });
    await expect(child.start()).rejects.toThrow('the counting process ended at start (did not listen within 0.1 s)');
  });

  it('reports the exit code, and leaves no process behind', async () => {
    const program = `${temporaryFolder('no-program')}/none.js`;
    const child = new CountingChild(WORKERS, undefined, pino({ level: 'silent' }), { program, askIntervalMs: 50 });
    await expect(child.start()).rejects.toThrow('the counting process ended at start (exit code 1)');
    expect(childrenOf(process.pid, 'none.js')).toEqual([]);
  });
});
