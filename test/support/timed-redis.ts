/** A real Redis whose scripts use a clock of the test. */
import type { Cluster, Redis } from 'ioredis';
import type { Clock } from '../../src/platform/clock.js';
import type { MonthSource } from '../../src/quota/model/counter-store.js';
import { PASSING_SINK } from '../../src/quota/model/decision-sink.js';
import { RedisCounters } from '../../src/quota/redis/redis-counters.js';
import { connectRedis, redisReady, type RedisClient } from '../../src/stores/redis/connect.js';
import { plainText, sendScript, type ScriptCommand } from '../../src/stores/redis/script-command.js';
import type { ClusterGroup } from './redis-groups.js';
import { sharedRedisUrl } from './redis.js';

const TIME_CALL = "redis.call('TIME')";
/** Lua expression that replaces the call. It converts the last argument of the script, a time in ms. */
const TIME_ARGUMENT =
  '(function() local ms = tonumber(ARGV[#ARGV]); return {tostring(math.floor(ms / 1000)), tostring(ms % 1000 * 1000)} end)()';

/** Deadline for tests that check counts rather than speed, so that a busy machine does not look like a lost Redis. */
export const PATIENT_DEADLINE_MS = 10_000;

/** Makes a script read the time from its last argument. @throws Error if it does not read the time from Redis. */
export function withTimeArgument(script: string): string {
  if (!script.includes(TIME_CALL)) throw new Error(`the script does not contain ${TIME_CALL}`);
  const timed = script.replaceAll(TIME_CALL, TIME_ARGUMENT);
  if (timed.includes("'TIME'")) throw new Error('the script reads the time in another way');
  return timed;
}

/**
 * Returns a client that sends all scripts as source and runs them by `clock`. It supports only scripts, so the tested
 * code must use nothing else.
 */
export function timedClient(client: RedisClient, clock: Clock): Redis {
  const scripts = new Map<string, string>();
  const exchanged = (script: string): string => {
    let timed = scripts.get(script);
    if (timed === undefined) scripts.set(script, (timed = withTimeArgument(script)));
    return timed;
  };
  const timed = {
    isCluster: client.isCluster,
    // Behaves like a server that does not know the script. The caller then sends the source.
    evalsha: () => Promise.reject(new Error('NOSCRIPT')),
    eval: (script: string, keyCount: number, ...rest: (string | number)[]) =>
      client.eval(exchanged(script), keyCount, ...rest, clock.now()),
    sendCommand: ({ call }: ScriptCommand) => {
      if (call === undefined) throw new Error('the command has no script call');
      const { script, keyCount, argumentCount, text, slot } = call;
      const written = {
        script: { source: exchanged(script.source), sha: script.sha },
        keyCount,
        argumentCount: argumentCount + 1,
        text: text + plainText(String(clock.now())),
        slot,
        onResult: (answer: unknown) => call.onResult(answer),
        onError: (error: Error) => call.onError(error),
      };
      sendScript(client, written, true);
    },
  };
  return timed as unknown as Redis;
}

export interface TimedCounters {
  readonly counters: RedisCounters;
  readonly client: Redis;
  close(): void;
}

/**
 * Empties the shared Redis, and opens counters there that use `clock`. Keys expire by the real time, so `clock` must be
 * ahead of it. The caller must close them.
 */
export async function timedRedisCounters(clock: Clock, months: MonthSource): Promise<TimedCounters> {
  const client = await emptyRedis();
  const counters = patientCounters(client, clock, months);
  return { counters, client, close: () => client.disconnect() };
}

function patientCounters(client: RedisClient, clock: Clock, months: MonthSource): RedisCounters {
  return new RedisCounters(timedClient(client, clock), clock, months, PASSING_SINK, PATIENT_DEADLINE_MS);
}

/** Empties the test's own Cluster, and opens counters there that use `clock`. The caller must close them. */
export async function timedClusterCounters(
  cluster: ClusterGroup,
  clock: Clock,
  months: MonthSource,
): Promise<Pick<TimedCounters, 'counters' | 'close'>> {
  await cluster.empty();
  const client = connectRedis(cluster.url, 'test', { warn: () => {} }) as Cluster;
  await redisReady(client, PATIENT_DEADLINE_MS);
  for (const node of client.nodes()) node.options.commandTimeout = PATIENT_DEADLINE_MS;
  return { counters: patientCounters(client, clock, months), close: () => client.disconnect() };
}

/** Empties the shared Redis, and opens the counters of several nodes. Each has its own connection; all use `clock`. */
export async function timedNodes(
  count: number,
  clock: Clock,
  months: MonthSource,
): Promise<{ nodes: RedisCounters[]; close(): void }> {
  const clients: Redis[] = [];
  for (let node = 0; node < count; node++) clients.push(await emptyRedis());
  const nodes = clients.map((client) => patientCounters(client, clock, months));
  return { nodes, close: () => clients.forEach((client) => client.disconnect()) };
}

/** Connects to the shared Redis with a long command timeout, and deletes all keys in this worker's database. */
export async function emptyRedis(): Promise<Redis> {
  return patientClient(await sharedRedisUrl());
}

/** Connects to a Redis like `emptyRedis`. For a test's own server, if the test reads data about all its clients. */
export async function patientClient(url: string): Promise<Redis> {
  const client = connectRedis(url, 'test', { warn: () => {} }) as Redis;
  client.options.commandTimeout = PATIENT_DEADLINE_MS;
  await redisReady(client, PATIENT_DEADLINE_MS);
  await client.flushdb();
  return client;
}
