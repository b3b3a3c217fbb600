/**
 * Limits the rate of invitations and verification links by counting their rows. Each invitation may send mail to a
 * person who did not ask for it.
 */
import type { Transaction } from 'kysely';
import type { Tables } from '../../stores/database/schema.js';
import { THROTTLES, type ThrottleRow } from '../../quota/model/throttle-rows.js';
import { Problem } from '../../platform/problems/errors.js';
import type { CallerAccess } from '../permissions.js';

/**
 * Checks the hourly limits of invitations per account and per address. Resent invitations count again. Operators are
 * exempt. Call it in the transaction that creates the invitation.
 * @throws Problem `too_many_requests` with `Retry-After`
 */
export async function checkInvitationLimits(
  trx: Transaction<Tables>,
  callerAccess: CallerAccess,
  accountId: string,
  emailKey: string,
  nowMs: number,
): Promise<void> {
  if (callerAccess === 'operator') return;
  const latest = await trx
    .selectFrom('link')
    .select(['email_key', 'created_at'])
    .where('account_id', '=', accountId)
    .where('kind', '=', 'invitation')
    .orderBy('id', 'desc')
    .limit(THROTTLES.invitations.limit)
    .execute();
  // Ignore links with a future date, which a process whose clock was ahead may have created.
  const recent = latest.filter(({ created_at: at }) => at <= nowMs && nowMs - at < THROTTLES.invitations.windowMs);
  const toAddress = recent.filter((link) => link.email_key === emailKey);
  checkThrottle(THROTTLES.invitations, recent, 'You sent too many invitations within an hour.', nowMs);
  checkThrottle(
    THROTTLES.invitationsToAddress,
    toAddress,
    'Too many invitations to this address within an hour.',
    nowMs,
  );
}

/**
 * Throws `too_many_requests` with `Retry-After` if the limit of a throttle is reached.
 * @param links links created within the throttle's window, newest first
 */
export function checkThrottle(
  { limit, windowMs }: ThrottleRow,
  links: readonly { readonly created_at: number }[],
  detail: string,
  nowMs: number,
): void {
  const oldest = links[limit - 1];
  if (oldest === undefined) return;
  const seconds = Math.ceil((oldest.created_at + windowMs - nowMs) / 1_000);
  throw new Problem('too_many_requests', {
    detail: `${detail} Try again in ${Math.ceil(seconds / 60)} minutes.`,
    headers: ['Retry-After', String(seconds)],
  });
}
