/** Adds the normalized text of account names, for search. */
import { sql, type Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';
import { searchText } from '../search/search-text.js';

const STATEMENTS = [
  `alter table account add column search text not null default ''`,
  // `lower` is correct for ASCII names. Nearly all names are ASCII.
  `update account set search = lower(name)`,
  `create index account_search on account (search, id)`,
];

export const accountSearch: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
    // For other letters, `lower` differs between the databases. SQLite leaves them unchanged, and PostgreSQL uses its
    // locale.
    const { rows } = await sql<{ id: string; name: string }>`
      select id, name from account where octet_length(name) <> length(name)
    `.execute(db);
    for (const { id, name } of rows) {
      await sql`update account set search = ${searchText(name)} where id = ${id}`.execute(db);
    }
  },
};
