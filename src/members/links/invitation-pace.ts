/** How often an account invites: each invitation may be a mail of ours to somebody who has not asked for one. */
import type { Transaction } from 'kysely';
import type { Tables } from '../../database/schema.js';
import { THROTTLES } from '../../limits/model/throttle-rows.js';
import { Problem } from '../../problems/errors.js';
import type { Giver } from '../permissions.js';

const { limit: MOST_INVITATIONS, windowMs: WINDOW_MS } = THROTTLES.invitations;
/** An invitation that is sent again or corrected counts once more. */
const { limit: MOST_TO_ONE_ADDRESS } = THROTTLES.invitationsToAddress;

/**
 * Throws `too_many_requests` with `Retry-After` where the account has invited too many in the last hour, or one address
 * too often. Operators are not held to it: the mails are theirs. Give it the transaction that makes the invitation.
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
    .limit(MOST_INVITATIONS)
    .execute();
  // What a clock that was ahead has written says nothing of this hour.
  const fresh = latest.filter(({ created_at: at }) => at <= nowMs && nowMs - at < WINDOW_MS);
  const toAddress = fresh.filter((link) => link.email_key === emailKey);
  refuseFrom(MOST_INVITATIONS, fresh, 'Too many people were invited within an hour.', nowMs);
  refuseFrom(MOST_TO_ONE_ADDRESS, toAddress, 'This address was invited too often within an hour.', nowMs);
}

/** @param made the newest first. */
function refuseFrom(
  most: number,
  made: readonly { readonly created_at: number }[],
  detail: string,
  nowMs: number,
): void {
  const first = made[most - 1];
  if (first === undefined) return;
  const seconds = Math.ceil((first.created_at + WINDOW_MS - nowMs) / 1_000);
  throw new Problem('too_many_requests', {
    detail: `${detail} Try again in ${Math.ceil(seconds / 60)} minutes.`,
    headers: ['Retry-After', String(seconds)],
  });
}
