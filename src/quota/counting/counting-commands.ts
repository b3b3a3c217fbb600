/**
 * Implements the commands that the counting process accepts from gateways. They are the Redis commands that gateways
 * send, and one function for each script. A script is identified by the SHA-1 of its Lua.
 */
import { hash } from 'node:crypto';
import { bulkText } from '../../stores/redis/script-command.js';
import type { Command, Commands } from '../../stores/redis/server/command-server.js';
import { errorReply, mapReply, numberReply, OK, PONG } from '../../stores/redis/server/replies.js';
import type { CountingTables } from './counting-tables.js';
import { decide } from './decide-script.js';
import { months, read, setUsed } from './month-scripts.js';
import { heartbeat, throttle, time } from './node-scripts.js';
import { refund, refundHit, undoBatch } from './refund-scripts.js';
import { LUA } from './lua.js';
import { NOT_YET, type ScriptRun } from './script-call.js';
import { replay, seed } from './seed-scripts.js';

/** Version of the Redis protocol. */
const RESP = '3';
const SCRIPTS: Readonly<Record<keyof typeof LUA, ScriptRun>> = {
  decide,
  read,
  months,
  setUsed,
  refund,
  undo: undoBatch,
  replay,
  seed,
  throttle,
  refundHit,
  heartbeat,
  time,
};

/** CallClock gives each call its own instant (µs), for up to a thousand calls per millisecond. */
class CallClock {
  private lastMs = -Infinity;
  private callsInMs = 0;

  constructor(private readonly nowMs: () => number) {}

  nowUs(): number {
    const nowMs = Math.floor(this.nowMs());
    this.callsInMs = nowMs === this.lastMs ? Math.min(this.callsInMs + 1, 999) : 0;
    this.lastMs = nowMs;
    return nowMs * 1_000 + this.callsInMs;
  }
}

/**
 * Returns the commands that run gateways' calls on the tables.
 * @param nowMs the clock of all counters.
 */
export function countingCommands(tables: CountingTables, nowMs: () => number = Date.now): Commands {
  const clock = new CallClock(nowMs);
  const names = Object.keys(LUA) as (keyof typeof LUA)[];
  const scripts = new Map(names.map((name) => [hash('sha1', LUA[name]), SCRIPTS[name]]));
  const runScript = (sha: string, keyCount: string | undefined, rest: readonly string[]): string => {
    const run = scripts.get(sha);
    if (run === undefined) return errorReply('NOSCRIPT unknown script');
    const keys = rest.slice(0, Number(keyCount));
    return run({ tables, keys, args: rest.slice(Number(keyCount)), nowUs: clock.nowUs() });
  };
  return new Map<string, Command>([
    ['evalsha', ([sha = '', keyCount, ...rest]) => runScript(sha, keyCount, rest)],
    ['eval', ([source = '', keyCount, ...rest]) => runScript(hash('sha1', source), keyCount, rest)],
    ['publish', ([channel = '', text = ''], client) => numberReply(client.publish(channel, text))],
    [
      'subscribe',
      ([channel = ''], client) => {
        client.subscribe(channel);
        // No direct reply. The confirmation is sent as a message of the channel.
        return '';
      },
    ],
    ['ping', () => PONG],
    // Gateways send `set` only to check that the process can count. Disk and memory limits, which matter in Redis, do
    // not apply.
    ['set', () => (tables.awaited.isWaiting ? NOT_YET : OK)],
    ['unlink', (names) => numberReply(names.filter((name) => tables.throttles.delete(name)).length)],
    ['zrem', ([, node = '']) => numberReply(tables.nodes.delete(node) ? 1 : 0)],
    [
      'hello',
      ([version]) =>
        version === RESP
          ? mapReply({ server: 'trailgate', proto: Number(RESP) })
          : errorReply('NOPROTO this server speaks RESP3'),
    ],
    ['client', () => OK],
    ['info', () => bulkText('loading:0\r\n')],
  ]);
}
