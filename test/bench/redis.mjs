/** One Redis for each gateway that counts in it, so that its calls and its counters are this gateway's alone. */
import { Redis } from 'ioredis';
import { freePort, LOAD_CORE, startProgram, temporaryFolder, untilListening } from './processes.mjs';

const SCRIPT_COMMANDS = ['eval', 'evalsha', 'eval_ro', 'evalsha_ro', 'fcall', 'fcall_ro'];
/** What this program itself asks for. */
const OWN_COMMANDS = ['info', 'keys'];

/** Starts a Redis without persistence on the load's core. */
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
  client.on('error', () => {}); // it ends with the run; until then a failure shows as the command's own
  return { program, port, url: `redis://127.0.0.1:${port}`, client };
}

/**
 * What clients have asked of this Redis so far. A script's inner commands stand in `commandstats` like any other, so
 * where scripts ran only these are counted as calls; `reads` are socket reads, one for each pipeline (a few are our own).
 */
export async function redisCounters({ client }) {
  const calls = new Map();
  for (const [, command, count] of (await client.info('commandstats')).matchAll(/cmdstat_([\w|]+):calls=(\d+)/g)) {
    calls.set(command, Number(count));
  }
  const [, reads] = /total_reads_processed:(\d+)/.exec(await client.info('stats')) ?? [];
  return { calls, reads: Number(reads) };
}

/** Calls and socket reads between two readings (this program's own left out). */
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

/** Sum of the integer values of all keys that match a glob pattern. */
export async function sumOfCounters({ client }, pattern) {
  const keys = await client.keys(pattern);
  if (keys.length === 0) return 0;
  return (await client.mget(keys)).reduce((sum, value) => sum + Number(value), 0);
}
