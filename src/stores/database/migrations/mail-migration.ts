/** Creates the table of queued mails. The row type is in `mail-table.ts`. */
import { sql, type Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

const STATEMENTS = [
  `create table mail (
    id text primary key, link_id text not null unique references link (id) on delete cascade, to_name text not null,
    to_address text not null, locale text not null, content text not null, state text not null, tries integer not null,
    next_at bigint not null, error text, created_at bigint not null, sent_at bigint)`,
  `create index mail_next_at on mail (state, next_at)`,
];

/** A mail is inserted in the same transaction as the link that it contains. */
export const mails: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
  },
};
