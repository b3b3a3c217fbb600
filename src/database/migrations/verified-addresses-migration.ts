/** Adds when the address of a member was proven; `members/verified-addresses.ts` says what proves one. */
import { sql, type Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** Members who used a reset link that was mailed to their address have proven it. All others begin unverified. */
const USED_MAILED_LINK = `update member set email_verified_at = (
    select min(link.used_at) from link join mail on mail.link_id = link.id
    where link.kind = 'password_reset' and link.member_id = member.id and mail.to_address = member.email
      and mail.state = 'sent' and link.used_at is not null)`;

export const verifiedAddresses: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('member').addColumn('email_verified_at', 'bigint').execute();
    await sql.raw(USED_MAILED_LINK).execute(db);
  },
};
