/**
 * Which addresses of members are verified. An address is verified once someone opened a link that was mailed to it, or
 * an identity provider said `email_verified: true` about it. An address that an inviter, an operator or the first owner
 * typed is unverified: it is a name to sign in with, and nothing is given to a member because of it.
 */
import type { Kysely, Transaction } from 'kysely';
import type { Tables } from '../stores/database/schema.js';
import { dataOf, type LinkRow } from './links.js';
import { emailKeyOf } from './member-fields.js';
import type { MemberRow } from './member-rows.js';

/** What the data of a link says when its token goes out by mail alone, so that whoever has it reads that mailbox. */
export const MAILED = { mailed: true } as const;

/** Reports whether taking the link proves its address. */
export function isMailed(link: LinkRow): boolean {
  return dataOf(link)['mailed'] === true;
}

/** Marks the address of a member as verified, if `email` is theirs. Call it in the transaction of the proof. */
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

/** Returns the member whose verified address this is; undefined if nobody has proven it. */
export async function verifiedMemberByEmail(db: Kysely<Tables>, email: string): Promise<MemberRow | undefined> {
  const byAddress = db.selectFrom('member').selectAll().where('email_key', '=', emailKeyOf(email));
  return await byAddress.where('email_verified_at', 'is not', null).executeTakeFirst();
}
