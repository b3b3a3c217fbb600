/**
 * Reads month counts from Redis, outside the request path. The sweep of dead processes writes these counts to the
 * database.
 */
import type { RedisClient } from '../../stores/redis/connect.js';
import { accountCounterKey, apiKeyCounterKey } from '../../stores/redis/keys.js';
import type { DayCount } from '../model/calendar-count.js';
import { Script } from '../../stores/redis/script.js';
import { MONTHS_LUA } from './scripts/months.js';

/** Maximum number of counters per call. Bounds the time that Redis needs for a call. */
const COUNTERS_PER_CALL = 200;

const MONTHS = new Script(MONTHS_LUA);

/** SeenCount is the count of a counter's current month, read from Redis. */
export interface SeenCount {
  /** Empty for the account's own count. */
  readonly keyId: string;
  readonly month: number;
  readonly used: number;
  readonly day: DayCount;
  /** When Redis read the count, in ms by Redis's clock. */
  readonly observedAtMs: number;
}

/**
 * Reads the counters of an account and of some of its keys. Omits missing counters, and lost counters to which nodes
 * may still have to report. Rejects if Redis does not respond.
 */
export async function readMonths(
  client: RedisClient,
  accountId: string,
  keyIds: readonly string[],
): Promise<SeenCount[]> {
  const seen: SeenCount[] = [];
  for (let at = 0; at < keyIds.length; at += COUNTERS_PER_CALL) {
    const some = keyIds.slice(at, at + COUNTERS_PER_CALL);
    const keys = some.map((keyId) =>
      keyId === '' ? accountCounterKey(accountId) : apiKeyCounterKey(accountId, keyId),
    );
    const [observedAtMs = 0, ...numbers] = (await MONTHS.run(client, keys, [])) as number[];
    some.forEach((keyId, index) => {
      const [month = -1, used = 0, day = 0, usedToday = 0] = numbers.slice(index * 4);
      if (month !== -1) seen.push({ keyId, month, used, day: { day, used: usedToday }, observedAtMs });
    });
  }
  return seen;
}
