/**
 * Sets a month's count in Redis and in its database row, for adjustments by an operator. Counts that nodes observed
 * before the change never replace the new count. Requests that are admitted after the change are added to the new
 * count.
 */
import type { Transaction } from 'kysely';
import type { Tables } from '../../stores/database/schema.js';
import { COUNTER_GRACE_MS } from '../../stores/redis/keys.js';
import { ANY_ROOM, type MonthSet } from '../model/counter-store.js';
import { labelsOf, NO_PERIOD, type MonthCalendar, type MonthPeriod } from '../model/month-period.js';
import { millisecondsOf } from './read-response.js';
import type { RedisCalls } from './redis-calls.js';
import { Script } from '../../stores/redis/script.js';
import { READ_LUA } from './scripts/read.js';
import { SET_USED_LUA } from './scripts/set-used.js';
import { toObservedColumns } from '../model/observation-time.js';

/** Deadline of each call, in ms. Also the time for which Redis may still run the change. */
const SET_DEADLINE_MS = 240;
/** Maximum number of attempts to read the count in a later millisecond than that of the change. */
const OBSERVE_ATTEMPTS = 5;
/**
 * A row whose observation is later than the change by this time (ms) or more came from a clock that was set back since.
 * The change replaces such a row.
 */
const LONGEST_SET_MS = 60_000;

const SET_USED = new Script(SET_USED_LUA);
const READ = new Script(READ_LUA);

/**
 * Sets the month's count in Redis. Rejects if the call failed or reached Redis too late, or if no response came in
 * time.
 */
export async function setMonthInRedis(
  calls: RedisCalls,
  /** The keys of the counter and of its shadow counter. */
  keys: readonly string[],
  calendar: MonthCalendar,
  used: number,
): Promise<MonthSet> {
  const read = async (period: MonthPeriod): Promise<number[]> =>
    (await calls.runScript(
      READ,
      keys.slice(0, 1),
      [...labelsOf(period), ANY_ROOM.account],
      SET_DEADLINE_MS,
    )) as number[];
  const startMs = millisecondsOf(await read(NO_PERIOD));
  const period = calendar.at(startMs);
  const args = [...labelsOf(period), period.endMs + COUNTER_GRACE_MS, used, startMs + SET_DEADLINE_MS];
  const [done, setMs = 0, before = 0] = (await calls.runScript(SET_USED, keys, args, SET_DEADLINE_MS)) as number[];
  if (done !== 1) throw new Error('the call reached Redis too late, and changed nothing');
  // Observations in the same millisecond as the change have no order. Read the count in a later millisecond.
  for (let attempt = 0; attempt < OBSERVE_ATTEMPTS; attempt++) {
    const response = await read(period).catch(() => []);
    const [nowUs = 0, label = -1, seen = used] = response;
    if (millisecondsOf(response) > setMs && label !== -1)
      return { period, before, used: seen, observedAtMs: nowUs / 1_000 };
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  return { period, before, used, observedAtMs: setMs + 1 };
}

/**
 * Writes the result of `setMonthInRedis` to the database, in the transaction of the audit record. Without `keyId`,
 * writes the account's count.
 */
export async function writeMonthSet(
  trx: Transaction<Tables>,
  accountId: string,
  keyId: string | undefined,
  { period, used, observedAtMs }: MonthSet,
  nowMs: number,
): Promise<void> {
  const observed = toObservedColumns(observedAtMs);
  const row = { used, ...observed, set_at: observed.observed_at, updated_at: nowMs };
  await trx
    .insertInto('quota_counter')
    .values({ account_id: accountId, api_key_id: keyId ?? '', period: period.label, ...row })
    .onConflict((conflict) =>
      conflict.columns(['account_id', 'api_key_id', 'period']).doUpdateSet((eb) => {
        // A node may have written a newer observation already. Keep it.
        const atMs = observed.observed_at;
        const isLater = eb.or([
          eb('quota_counter.observed_at', '>', atMs),
          eb.and([
            eb('quota_counter.observed_at', '=', atMs),
            eb('quota_counter.observed_us', '>', observed.observed_us),
          ]),
        ]);
        const isNewer = eb.and([isLater, eb('quota_counter.observed_at', '<', atMs + LONGEST_SET_MS)]);
        const newer = (column: 'used' | 'observed_at' | 'observed_us') =>
          eb
            .case()
            .when(isNewer)
            .then(eb.ref(`quota_counter.${column}`))
            .else(eb.ref(`excluded.${column}`))
            .end();
        return {
          set_at: row.set_at,
          updated_at: nowMs,
          used: newer('used'),
          observed_at: newer('observed_at'),
          observed_us: newer('observed_us'),
        };
      }),
    )
    .execute();
}
