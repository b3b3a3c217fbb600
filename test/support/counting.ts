/** Runs the counting process of a gateway without Redis inside the test process, with the test's clock. */
import { hash } from 'node:crypto';
import { join, resolve } from 'node:path';
import type { Redis } from 'ioredis';
import { countingCommands } from '../../src/quota/counting/counting-commands.js';
import { CountingTables } from '../../src/quota/counting/counting-tables.js';
import { AwaitedNodes } from '../../src/quota/counting/awaited-nodes.js';
import type { MonthSource } from '../../src/quota/model/counter-store.js';
import { PASSING_SINK } from '../../src/quota/model/decision-sink.js';
import { RedisCounters } from '../../src/quota/redis/redis-counters.js';
import type { Clock } from '../../src/platform/clock.js';
import { systemClock } from '../../src/platform/clock.js';
import { connectRedis, redisReady } from '../../src/stores/redis/connect.js';
import { CommandServer, type Command } from '../../src/stores/redis/server/command-server.js';
import { errorReply } from '../../src/stores/redis/server/replies.js';
import { temporaryFolder } from './processes.js';
import { PATIENT_DEADLINE_MS } from './timed-redis.js';

/** Path of the built counting process, which a gateway starts. */
export const COUNTING_PROGRAM = resolve('dist/quota/counting/counting-process.js');
/** Part of the command line of a counting process. */
export const COUNTING = 'counting-process';

export interface Counting {
  /** Path of the Unix socket, for `connectRedis`. */
  readonly path: string;
  /**
   * Replaces the data with empty tables, as a restarted process has.
   * @param awaited number of nodes that must report before the server decides; there is no time limit
   */
  empty(awaited?: number): void;
  /** Makes all further calls of a Lua script fail. Without a script, no calls fail. */
  fail(script?: string): void;
  stop(): Promise<void>;
}

/**
 * Starts the server, which counts by `clock`. The caller must stop it. Its data expires by the real time, so `clock`
 * must be ahead of the real time.
 */
export async function startCounting(clock: Clock = systemClock): Promise<Counting> {
  const path = join(temporaryFolder('counting'), 'counters');
  const anew = (awaited = 0) =>
    countingCommands(new CountingTables(Date.now, new AwaitedNodes(awaited)), () => clock.now());
  let current = anew();
  let failing: string | undefined;
  const delegated = [...current.keys()].map((name) => {
    const command: Command = (args, client) =>
      failing !== undefined && args[0] === failing
        ? errorReply('ERR failed by the test')
        : current.get(name)!(args, client);
    return [name, command] as const;
  });
  const server = new CommandServer(path, new Map(delegated));
  await server.listen();
  return {
    path,
    empty: (awaited) => void (current = anew(awaited)),
    fail: (script) => void (failing = script === undefined ? undefined : hash('sha1', script)),
    stop: () => server.close(),
  };
}

/** Connects to the server as the program does, but with a longer timeout. */
export async function countingClient(path: string): Promise<Redis> {
  const client = connectRedis(path, 'test', { warn: () => {} }) as Redis;
  client.options.commandTimeout = PATIENT_DEADLINE_MS;
  await redisReady(client, PATIENT_DEADLINE_MS);
  return client;
}

/** Starts a server that counts by `clock`, and returns one node's counters on it. The caller must close them. */
export async function timedCounting(
  clock: Clock,
  months: MonthSource,
): Promise<{ counters: RedisCounters; close(): Promise<void> }> {
  const counting = await startCounting(clock);
  const client = await countingClient(counting.path);
  return {
    counters: new RedisCounters(client, clock, months, PASSING_SINK, PATIENT_DEADLINE_MS),
    close: async () => {
      client.disconnect();
      await counting.stop();
    },
  };
}
