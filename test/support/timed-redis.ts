/** A real Redis whose scripts take their time from a clock of the test. */
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
/** The time in milliseconds is handed over as one more argument behind the script's own. */
const TIME_ARGUMENT =
  '(function() local ms = tonumber(ARGV[#ARGV]); return {tostring(math.floor(ms / 1000)), tostring(ms % 1000 * 1000)} end)()';

/** Deadline for tests that check counts rather than speed, so that a busy machine does not look like a lost Redis. */
export const PATIENT_DEADLINE_MS = 10_000;

/** The script with its clock exchanged. @throws Error where it does not ask Redis for the time. */
export function withTimeArgument(script: string): string {
  if (!script.includes(TIME_CALL)) throw new Error(`the script does not contain ${TIME_CALL}`);
  const timed = script.replaceAll(TIME_CALL, TIME_ARGUMENT);
  if (timed.includes("'TIME'")) throw new Error('the script asks for the time in another way');
  return timed;
}

/** The client, but that scripts run whole and by `clock`. Nothing else of it may be used by what is tested. */
export function timedClient(client: RedisClient, clock: Clock): Redis {
  const scripts = new Map<string, string>();
  const exchanged = (script: string): string => {
    let timed = scripts.get(script);
    if (timed === undefined) scripts.set(script, (timed = withTimeArgument(script)));
    return timed;
  };
  const timed = {
    isCluster: client.isCluster,
    // As a server that does not know the script: the caller then sends it whole.
    evalsha: () => Promise.reject(new Error('NOSCRIPT')),
    eval: (script: string, keyCount: number, ...rest: (string | number)[]) =>
      client.eval(exchanged(script), keyCount, ...rest, clock.now()),
    sendCommand: ({ call }: ScriptCommand) => {
      if (call === undefined) throw new Error('a command without a call');
      const { script, keyCount, argumentCount, text, slot } = call;
      const written = {
        script: { source: exchanged(script.source), sha: script.sha },
        keyCount,
        argumentCount: argumentCount + 1,
        text: text + plainText(String(clock.now())),
        slot,
        answered: (answer: unknown) => call.answered(answer),
        failed: (error: Error) => call.failed(error),
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

/** Counters in the emptied shared Redis, by `clock`. Keys expire by the real time: let the clock run ahead of it. */
export async function timedRedisCounters(clock: Clock, months: MonthSource): Promise<TimedCounters> {
  const client = await emptyRedis();
  const counters = patientCounters(client, clock, months);
  return { counters, client, close: () => client.disconnect() };
}

function patientCounters(client: RedisClient, clock: Clock, months: MonthSource): RedisCounters {
  return new RedisCounters(timedClient(client, clock), clock, months, PASSING_SINK, PATIENT_DEADLINE_MS);
}

/** Counters in a Cluster of the test's own, emptied, by `clock`. */
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

/** Several nodes with a connection each, on the emptied shared Redis, by one clock. */
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

/** A connection to the shared Redis, made as the program makes it but patient, with nothing in this worker's database. */
export async function emptyRedis(): Promise<Redis> {
  return patientClient(await sharedRedisUrl());
}

/** The same to a Redis that the test has for itself, where what the server says of all its clients matters. */
export async function patientClient(url: string): Promise<Redis> {
  const client = connectRedis(url, 'test', { warn: () => {} }) as Redis;
  client.options.commandTimeout = PATIENT_DEADLINE_MS;
  await redisReady(client, PATIENT_DEADLINE_MS);
  await client.flushdb();
  return client;
}
