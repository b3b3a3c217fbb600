/**
 * Records when a member's email address was verified. `members/verified-addresses.ts` defines what verifies an address.
 */
import { sql, type Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** Maximum duration of a transaction. Each statement has a deadline, so transactions are shorter. */
const LONGEST_TRANSACTION_MS = 60_000;

/**
 * Marks the address of a member as verified if the member used a link that was sent only by mail. A reset link names
 * its member. An invitation names no member. Its recipient is the member with its address who joined the account within
 * a minute after the use of the link. Both happen in one transaction. Addresses of members who have left the account
 * since then stay unverified. The query reads the mails once. A subquery per member would read all mails each time.
 */
const USED_MAILED_LINKS = `
  with used as (
    select link.kind, link.account_id, link.member_id, link.email_key, link.used_at, mail.to_address
    from link join mail on mail.link_id = link.id
    where link.kind in ('password_reset', 'invitation') and link.used_at is not null and mail.state = 'sent'),
  proof as (
    select member.id, used.used_at from used
    join member on member.id = used.member_id and member.email = used.to_address
    where used.kind = 'password_reset'
    union all
    select member.id, used.used_at from used
    join member on member.email_key = used.email_key
    join account_member joined on joined.account_id = used.account_id and joined.member_id = member.id
      and joined.created_at between used.used_at and used.used_at + ${LONGEST_TRANSACTION_MS}
    where used.kind = 'invitation'),
  proven as (select id, min(used_at) as used_at from proof group by id)
  update member set email_verified_at = proven.used_at from proven where member.id = proven.id`;

export const verifiedAddresses: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('member').addColumn('email_verified_at', 'bigint').execute();
    await sql.raw(USED_MAILED_LINKS).execute(db);
  },
};
