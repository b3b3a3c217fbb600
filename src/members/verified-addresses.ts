/**
 * Records which members have a verified email address. An address becomes verified when the member opens a mailed link,
 * or an identity provider sends `email_verified: true`. Addresses entered by an inviter, an operator or the first owner
 * are unverified. A member can sign in with an unverified address, but the address grants nothing.
 */
import type { Kysely, Transaction } from 'kysely';
import type { Tables } from '../stores/database/schema.js';
import { dataOf, type LinkRow } from './links.js';
import { emailKeyOf } from './member-fields.js';
import type { MemberRow } from './member-rows.js';

/**
 * Link data that marks a link as sent by mail only. So a person who has the link can read the mailbox of the address.
 */
export const MAILED = { mailed: true } as const;

/** Reports whether the use of a link verifies the email address to which the link was mailed. */
export function isMailed(link: LinkRow): boolean {
  return dataOf(link)['mailed'] === true;
}

/**
 * Marks a member's address as verified, if the address equals `email`. Call it in the transaction that proves the
 * address.
 */
export async function markVerified(
  trx: Transaction<Tables>,
  memberId: string,
  email: string,
  nowMs: number,
): Promise<void> {
  await trx
    .updateTable('member')
    .set({ email_verified_at: nowMs })
    .where('id', '=', memberId)
    .where('email_key', '=', emailKeyOf(email))
    .where('email_verified_at', 'is', null)
    .execute();
}

/** Returns the member who has verified this address. Returns undefined if no member has. */
export async function verifiedMemberByEmail(db: Kysely<Tables>, email: string): Promise<MemberRow | undefined> {
  const byAddress = db.selectFrom('member').selectAll().where('email_key', '=', emailKeyOf(email));
  return await byAddress.where('email_verified_at', 'is not', null).executeTakeFirst();
}
