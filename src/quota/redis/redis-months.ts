/** Reads month counts from Redis outside the request path, to write them to the database again after a process died. */
import type { RedisClient } from '../../stores/redis/connect.js';
import { accountCounterKey, apiKeyCounterKey } from '../../stores/redis/keys.js';
import type { DayCount } from '../model/calendar-count.js';
import { Script } from '../../stores/redis/script.js';
import { MONTHS_LUA } from './scripts/months.js';

/** Maximum number of counters per call. Bounds the time that Redis is busy with it. */
const COUNTERS_PER_CALL = 200;

const MONTHS = new Script(MONTHS_LUA);

/** SeenCount is a count of a counter's current month. */
export interface SeenCount {
  /** Empty for the account's own count. */
  readonly keyId: string;
  readonly month: number;
  readonly used: number;
  readonly day: DayCount;
  /** Redis's time, ms. */
  readonly observedAtMs: number;
}

/** Reads the existing counters of an account and of some of its keys. Rejects when Redis does not respond. */
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
