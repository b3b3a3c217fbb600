/** Forgets what is over: sessions, steps of sign-ins, links. */
import type { DatabaseHandle } from '../stores/database/connect.js';
import { deleteExpiredRows } from '../stores/database/expired-rows.js';
import type { Clock } from '../platform/clock.js';
import { neverStopped, type IsStopped } from '../platform/repeated-run.js';

const LINKS_KEPT_MS = 30 * 86_400_000;

/** What is forgotten, and how long after it is over. */
const PAST = [
  { table: 'member_session', key: 'hash', until: 'ends_at', keptMs: 0 },
  { table: 'sign_in_step', key: 'hash', until: 'expires_at', keptMs: 0 },
  // An invitation that has ended is shown for a while.
  { table: 'link', key: 'hash', until: 'expires_at', keptMs: LINKS_KEPT_MS },
] as const;

/** Resolves with how many rows were forgotten. Run now and then by the worker role. */
export async function forgetEndedSignIns(
  { db }: DatabaseHandle,
  clock: Clock,
  isStopped: IsStopped = neverStopped,
): Promise<number> {
  let forgotten = 0;
  for (const { keptMs, ...rows } of PAST) {
    forgotten += await deleteExpiredRows(db, rows, clock.now() - keptMs, isStopped);
  }
  return forgotten;
}
