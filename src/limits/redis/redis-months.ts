/**
 * Month counts as they stand in Redis, read beside the request path: to write them down again after a process has died.
 */
import type { RedisClient } from '../../redis/connect.js';
import { accountCounterKey, apiKeyCounterKey } from '../../redis/keys.js';
import { Script } from '../../redis/script.js';
import { YOUTH_MS } from './scripts/young.js';

/** Most counters of one call: bounds how long Redis is busy with it. */
const COUNTERS_PER_CALL = 200;

/** KEYS: counters of one account. Response: time in ms, then month label (-1: no counter) and used for each. */
const MONTHS = new Script(`
local time = redis.call('TIME')
local out = {tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)}
for i = 1, #KEYS do
  local f = redis.call('HMGET', KEYS[i], 'p', 'u', 'b')
  local month, birth, seen = tonumber(f[1]) or -1, string.match(f[3] or '', '^(%d+) (%d+)')
  -- What was there before it was created is known of a young one: it was lost, and may still lack what nodes have to
  -- hand in.
  local isLost = month < -1 and seen ~= '0' and math.abs(time[1] - (birth or 0)) < ${YOUTH_MS / 1_000}
  out[i * 2], out[i * 2 + 1] = isLost and -1 or math.abs(month) * (month == -1 and -1 or 1), tonumber(f[2]) or 0
end
return out
`);

/** A count of the month that its counter is in. */
export interface SeenCount {
  /** Empty: the account's own. */
  readonly keyId: string;
  readonly month: number;
  readonly used: number;
  /** Redis's time, ms. */
  readonly observedAtMs: number;
}

/** The counters of an account and of some of its keys, those that exist. Rejects when Redis does not answer. */
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
      const [month = -1, used = 0] = numbers.slice(index * 2);
      if (month !== -1) seen.push({ keyId, month, used, observedAtMs });
    });
  }
  return seen;
}
