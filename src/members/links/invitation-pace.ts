/** How often an account invites: each invitation may be a mail of ours to somebody who has not asked for one. */
import type { Transaction } from 'kysely';
import type { Tables } from '../../stores/database/schema.js';
import { THROTTLES, type ThrottleRow } from '../../quota/model/throttle-rows.js';
import { Problem } from '../../platform/problems/errors.js';
import type { Giver } from '../permissions.js';

/**
 * Throws `too_many_requests` with `Retry-After` where the account has invited too many in the last hour, or one address
 * too often. An invitation that is sent again or corrected counts once more. Operators are not held to it: the mails
 * are theirs. Give it the transaction that makes the invitation.
 */
export async function checkPace(
  trx: Transaction<Tables>,
  giver: Giver,
  accountId: string,
  emailKey: string,
  nowMs: number,
): Promise<void> {
  if (giver === 'operator') return;
  const latest = await trx
    .selectFrom('link')
    .select(['email_key', 'created_at'])
    .where('account_id', '=', accountId)
    .where('kind', '=', 'invitation')
    .orderBy('id', 'desc')
    .limit(THROTTLES.invitations.limit)
    .execute();
  // What a clock that was ahead has written says nothing of this hour.
  const fresh = latest.filter(({ created_at: at }) => at <= nowMs && nowMs - at < THROTTLES.invitations.windowMs);
  const toAddress = fresh.filter((link) => link.email_key === emailKey);
  refuseBeyond(THROTTLES.invitations, fresh, 'Too many people were invited within an hour.', nowMs);
  refuseBeyond(THROTTLES.invitationsToAddress, toAddress, 'This address was invited too often within an hour.', nowMs);
}

/**
 * Throws `too_many_requests` where as many were made as the throttle allows.
 * @param made within the window of the throttle, the newest first
 */
export function refuseBeyond(
  { limit, windowMs }: ThrottleRow,
  made: readonly { readonly created_at: number }[],
  detail: string,
  nowMs: number,
): void {
  const first = made[limit - 1];
  if (first === undefined) return;
  const seconds = Math.ceil((first.created_at + windowMs - nowMs) / 1_000);
  throw new Problem('too_many_requests', {
    detail: `${detail} Try again in ${Math.ceil(seconds / 60)} minutes.`,
    headers: ['Retry-After', String(seconds)],
  });
}
