/**
 * Verification state of members' email addresses. An address is verified once the member opens a mailed link, or an
 * identity provider sends `email_verified: true`. Addresses entered by an inviter, an operator or the first owner are
 * unverified. Unverified addresses work for sign-in but grant nothing.
 */
import type { Kysely, Transaction } from 'kysely';
import type { Tables } from '../stores/database/schema.js';
import { dataOf, type LinkRow } from './links.js';
import { emailKeyOf } from './member-fields.js';
import type { MemberRow } from './member-rows.js';

/** Data of a link that is sent by mail only. A person with the link can read the mailbox of the address. */
export const MAILED = { mailed: true } as const;

/** Reports whether using the link verifies its email address. */
export function isMailed(link: LinkRow): boolean {
  return dataOf(link)['mailed'] === true;
}

/** Marks a member's address as verified, if the address is `email`. Call it in the transaction of the verification. */
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

/** Returns the member with this verified address, or undefined. */
export async function verifiedMemberByEmail(db: Kysely<Tables>, email: string): Promise<MemberRow | undefined> {
  const byAddress = db.selectFrom('member').selectAll().where('email_key', '=', emailKeyOf(email));
  return await byAddress.where('email_verified_at', 'is not', null).executeTakeFirst();
}
