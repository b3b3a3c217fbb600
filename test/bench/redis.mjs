/** Starts a separate Redis for each gateway, so that its calls and counters can be attributed to the gateway. */
import { Redis } from 'ioredis';
import { freePort, LOAD_CORE, startProgram, temporaryFolder, untilListening } from './processes.mjs';

const SCRIPT_COMMANDS = ['eval', 'evalsha', 'eval_ro', 'evalsha_ro', 'fcall', 'fcall_ro'];
/** Commands that only the benchmark itself sends. */
const OWN_COMMANDS = ['info', 'keys'];

/** Starts a Redis without persistence on the load's core. `stopAll` stops it; the caller may disconnect `client`. */
export async function startRedis(name) {
  const port = await freePort();
  const args = ['--port', port, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', temporaryFolder()];
  const program = startProgram({
    name: `redis-${name}`,
    command: 'redis-server',
    args: args.map(String),
    core: LOAD_CORE,
  });
  await untilListening(program, port);
  const client = new Redis(port, '127.0.0.1', { retryStrategy: null });
  client.on('error', () => {}); // commands report their errors; the connection is lost at the end of the run
  return { program, port, url: `redis://127.0.0.1:${port}`, client };
}

/**
 * Reads the statistics of a Redis: calls by command, and socket reads. Several pipelined commands are one read. A few
 * reads are the benchmark's own.
 */
export async function redisCounters({ client }) {
  const calls = new Map();
  for (const [, command, count] of (await client.info('commandstats')).matchAll(/cmdstat_([\w|]+):calls=(\d+)/g)) {
    calls.set(command, Number(count));
  }
  const [, reads] = /total_reads_processed:(\d+)/.exec(await client.info('stats')) ?? [];
  return { calls, reads: Number(reads) };
}

/**
 * Returns the calls and socket reads between two readings. `INFO` also counts the commands that scripts run. Therefore,
 * if scripts ran, only script calls count. The benchmark's own calls are excluded, but not its reads.
 */
export function redisDifference(before, after) {
  let scripts = 0;
  let others = 0;
  for (const [command, count] of after.calls) {
    const difference = count - (before.calls.get(command) ?? 0);
    if (SCRIPT_COMMANDS.includes(command)) scripts += difference;
    else if (!OWN_COMMANDS.includes(command)) others += difference;
  }
  return { calls: scripts || others, reads: after.reads - before.reads };
}

/** Returns the sum of the integer values of all keys that match a glob pattern. */
export async function sumOfCounters({ client }, pattern) {
  const keys = await client.keys(pattern);
  if (keys.length === 0) return 0;
  return (await client.mget(keys)).reduce((sum, value) => sum + Number(value), 0);
}
