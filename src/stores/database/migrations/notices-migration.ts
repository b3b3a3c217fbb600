/** Allows mails without a link. The row type is in `mail-table.ts`. */
import { PostgresAdapter, sql, type Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

const ON_POSTGRES = ['alter table mail alter column link_id drop not null'];

/** SQLite cannot change a column, so the table is rebuilt. */
const ON_SQLITE = [
  `create table mail_anew (
    id text primary key, link_id text unique references link (id) on delete cascade, to_name text not null,
    to_address text not null, locale text not null, content text not null, state text not null, tries integer not null,
    next_at bigint not null, error text, created_at bigint not null, sent_at bigint)`,
  `insert into mail_anew select id, link_id, to_name, to_address, locale, content, state, tries, next_at, error,
    created_at, sent_at from mail`,
  `drop table mail`,
  `alter table mail_anew rename to mail`,
  `create index mail_next_at on mail (state, next_at)`,
];

/** A mail either contains a link, or is a notice without a link. */
export const notices: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter;
    for (const statement of isPostgres ? ON_POSTGRES : ON_SQLITE) await sql.raw(statement).execute(db);
  },
};
