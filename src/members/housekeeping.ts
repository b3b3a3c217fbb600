/** Forgets what is over: sessions, steps of sign-ins, links; a thousand rows at a time. */
import { sql } from 'kysely';
import type { DatabaseHandle } from '../database/connect.js';
import type { Clock } from '../platform/clock.js';

const LINKS_KEPT_MS = 30 * 86_400_000;
const ROWS_AT_ONCE = 1_000;

/** Each table with the column that says when a row is over, and its key. */
const OVER = [
  { table: 'member_session', until: 'ends_at', key: 'hash', keptMs: 0 },
  { table: 'sign_in_step', until: 'expires_at', key: 'hash', keptMs: 0 },
  // An invitation that has ended is shown for a while.
  { table: 'link', until: 'expires_at', key: 'hash', keptMs: LINKS_KEPT_MS },
] as const;

/** Resolves with how many rows were forgotten. Run now and then by the worker role. */
export async function forgetEndedSignIns({ db }: DatabaseHandle, clock: Clock): Promise<number> {
  let forgotten = 0;
  for (const { table, until, key, keptMs } of OVER) {
    const before = clock.now() - keptMs;
    for (let count = ROWS_AT_ONCE; count === ROWS_AT_ONCE; forgotten += count) {
      const over = sql`select ${sql.ref(key)} from ${sql.table(table)} where ${sql.ref(until)} <= ${before}
        limit ${sql.lit(ROWS_AT_ONCE)}`;
      const ended = sql`delete from ${sql.table(table)} where ${sql.ref(key)} in (${over})
        and ${sql.ref(until)} <= ${before}`;
      count = Number((await ended.execute(db)).numAffectedRows ?? 0n);
    }
  }
  return forgotten;
}
