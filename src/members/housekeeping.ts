/** Deletes expired sessions, sign-in steps and links, for the worker role. */
import type { DatabaseHandle } from '../stores/database/connect.js';
import { deleteExpiredRows } from '../stores/database/expired-rows.js';
import type { Clock } from '../platform/clock.js';
import { neverStopped, type IsStopped } from '../platform/repeated-run.js';

const LINKS_KEPT_MS = 30 * 86_400_000;

/** Tables with rows that expire, and the time in milliseconds for which expired rows are kept. */
const EXPIRING_TABLES = [
  { table: 'member_session', key: 'hash', until: 'ends_at', keptMs: 0 },
  { table: 'sign_in_step', key: 'hash', until: 'expires_at', keptMs: 0 },
  // The panel lists invitations until 30 days after their expiration.
  { table: 'link', key: 'hash', until: 'expires_at', keptMs: LINKS_KEPT_MS },
] as const;

/**
 * Deletes expired rows and returns their number. The worker role runs this once a day. Stops early if `isStopped`
 * returns true.
 */
export async function deleteExpiredSignIns(
  { db }: DatabaseHandle,
  clock: Clock,
  isStopped: IsStopped = neverStopped,
): Promise<number> {
  let deleted = 0;
  for (const { keptMs, ...table } of EXPIRING_TABLES) {
    deleted += await deleteExpiredRows(db, table, clock.now() - keptMs, isStopped);
  }
  return deleted;
}
