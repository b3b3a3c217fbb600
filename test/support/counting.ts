/** Counts for the workers of a gateway without Redis: in this process with the test's clock, or as a child. */
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

/** The program that a gateway starts, as it was built. */
export const COUNTING_PROGRAM = resolve('dist/quota/counting/counting-process.js');
/** How its command line is told from those of workers. */
export const COUNTING = 'counting-process';

export interface Counting {
  /** For `connectRedis`. */
  readonly path: string;
  /**
   * Forgets everything, as another process in its place has.
   * @param awaited how many nodes have to hand in before it decides, however long that takes
   */
  empty(awaited?: number): void;
  /** Fails calls of a script, in Lua, from now on; without one, none. */
  fail(script?: string): void;
  stop(): Promise<void>;
}

/** Counts in this process by `clock`; what it keeps expires by the real time: let the clock run ahead of it. */
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

/** A connection as the program makes it, but patient. */
export async function countingClient(path: string): Promise<Redis> {
  const client = connectRedis(path, 'test', { warn: () => {} }) as Redis;
  client.options.commandTimeout = PATIENT_DEADLINE_MS;
  await redisReady(client, PATIENT_DEADLINE_MS);
  return client;
}

/** Counters of one node there, by `clock`. */
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
