/** The counting process as it is built: private, replaced when it dies or hangs, and gone with the program. */
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
import { admittedOf, times } from '../support/counter-stores.js';
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

  it('lets nobody else in', () => {
    expect(statSync(dirname(path)).mode & EVERYBODY_ELSE).toBe(0);
  });

  it('lets exactly the limit through for several nodes at once', async () => {
    const clients = await Promise.all(times(3, () => countingClient(path)));
    const stores = clients.map(countersOf);
    const decisions = times(500, (index) => {
      const subject = subjectWith({ accountMonth: 100 }, { accountId: 'acc_1', keyId: `key_${index % 7}` });
      return stores[index % 3]!.decide(subject, 1);
    });
    expect(admittedOf(await Promise.all(decisions))).toBe(100);
    for (const each of clients) each.disconnect();
  });

  it('is replaced when it is killed, at the same place', async () => {
    const [victim = 0] = pids();
    process.kill(victim, 'SIGKILL');
    await eventually('another counts', async () => (await client.ping().catch(() => '')) === 'PONG');
    expect(pids()).not.toContain(victim);
    expect(pids()).toHaveLength(1);
    expect(logged('counting_process_ended')).toBe(true);
    // Nobody hands in: it decides all the same, and says so.
    await eventually('it decides', async () => (await client.set('tg:probe', '').catch(() => '')) === 'OK');
    await eventually('it is said', () => logged('counting_process_incomplete'));
    expect(lines.find(({ event }) => event === 'counting_process_incomplete')?.missing).toBe(WORKERS);
    const store = countersOf(client);
    expect((await store.decide(subjectWith({ accountMonth: 1 }), 1)).admitted).toBe(true);
  });

  it('is replaced when it hangs', async () => {
    const [victim = 0] = pids();
    process.kill(victim, 'SIGSTOP');
    await eventually('it is noticed', () => logged('counting_process_hangs'));
    await eventually('another counts', async () => (await client.ping().catch(() => '')) === 'PONG');
    expect(pids()).not.toContain(victim);
  });

  it('is replaced also where somebody has cleaned its folder away', async () => {
    rmSync(dirname(path), { recursive: true });
    process.kill(pids()[0]!, 'SIGKILL');
    await eventually('another counts', async () => (await client.ping().catch(() => '')) === 'PONG');
    expect(statSync(dirname(path)).mode & EVERYBODY_ELSE).toBe(0);
  });

  it('says why it cannot be replaced, and is as soon as it can', async () => {
    rmSync(path);
    mkdirSync(path);
    process.kill(pids()[0]!, 'SIGKILL');
    await eventually('it is said', () => logged('counting_process_start_failed'));
    expect(lines.find(({ event }) => event === 'counting_process_start_failed')?.err?.message).toContain(path);
    rmdirSync(path);
    await eventually('another counts', async () => (await client.ping().catch(() => '')) === 'PONG');
  });

  it('is not replaced in a folder that others may write to', async () => {
    chmodSync(dirname(path), 0o777);
    process.kill(pids()[0]!, 'SIGKILL');
    await eventually('it is said', () => logged('counting_process_start_failed'));
    expect(pids()).toEqual([]);
    chmodSync(dirname(path), 0o700);
    await eventually('another counts', async () => (await client.ping().catch(() => '')) === 'PONG');
  });

  it('says that the program has to be restarted where its files were replaced', async () => {
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

  it('is stopped without a word while another takes its place', async () => {
    const program = join(temporaryFolder('slow'), 'counting-process.mjs');
    // The first one listens and ends, the next one does neither.
    const source =
      "if (process.argv[2] === '0') process.send({ type: 'listening' }, () => process.exit()); setInterval(() => {}, 1e6);";
    writeFileSync(program, source);
    const replaced = new CountingChild(WORKERS, undefined, log, { program });
    await replaced.start();
    await eventually('another is started', () => childrenOf(process.pid, `${program} ${WORKERS}`).length === 1);
    await replaced.stop();
    expect(logged('counting_process_ended')).toBe(true);
    expect(logged('counting_process_start_failed')).toBe(false);
  });

  it('takes no heed of the signals of a terminal', async () => {
    const [pid = 0] = pids();
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.kill(pid, name);
    expect(await client.ping()).toBe('PONG');
    expect(pids()).toEqual([pid]);
  });

  it('is gone, with its folder, once stopped', async () => {
    await child.stop();
    expect(pids()).toEqual([]);
    expect(existsSync(dirname(path))).toBe(false);
    expect(logged('counting_process_ended')).toBe(false);
  });
});

describe('a counting process whose program is gone', () => {
  const startAlone = (path: string): ChildProcess =>
    fork(COUNTING_PROGRAM, ['0', path, ''], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  let path: string;
  beforeEach(() => {
    path = join(temporaryFolder('orphan'), 'folder', 'counters');
    mkdirSync(dirname(path), { mode: 0o700 });
  });

  it('ends, also when that went before it listened', async () => {
    const child = startAlone(path);
    child.disconnect();
    await once(child, 'exit');
    expect(existsSync(dirname(path))).toBe(false);
  });

  it('ends when nobody is connected any more', async () => {
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
  it('says that it did not listen in time', async () => {
    const program = join(temporaryFolder('slow'), 'counting-process.mjs');
    writeFileSync(program, 'setInterval(() => {}, 1e6);');
    const child = new CountingChild(WORKERS, undefined, pino({ level: 'silent' }), { program, startTimeoutMs: 100 });
    await expect(child.start()).rejects.toThrow('the counting process ended at start (did not listen within 0.1 s)');
  });

  it('says why, and leaves nothing behind', async () => {
    const program = `${temporaryFolder('no-program')}/none.js`;
    const child = new CountingChild(WORKERS, undefined, pino({ level: 'silent' }), { program, askIntervalMs: 50 });
    await expect(child.start()).rejects.toThrow('the counting process ended at start (exit code 1)');
    expect(childrenOf(process.pid, 'none.js')).toEqual([]);
  });
});
