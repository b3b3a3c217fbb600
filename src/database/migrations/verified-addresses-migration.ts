/** Adds when the address of a member was proven; `members/verified-addresses.ts` says what proves one. */
import { sql, type Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/**
 * Members who used a reset link that was mailed to their address have proven it. All others begin unverified. One pass
 * over the mails: a subquery for each member would read them all again.
 */
const USED_MAILED_LINK = `
  with proven as (
    select link.member_id, mail.to_address, min(link.used_at) as used_at
    from link join mail on mail.link_id = link.id
    where link.kind = 'password_reset' and link.used_at is not null and mail.state = 'sent'
    group by link.member_id, mail.to_address)
  update member set email_verified_at = proven.used_at from proven
  where member.id = proven.member_id and member.email = proven.to_address`;

export const verifiedAddresses: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('member').addColumn('email_verified_at', 'bigint').execute();
    await sql.raw(USED_MAILED_LINK).execute(db);
  },
};
