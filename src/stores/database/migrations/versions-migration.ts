/** Adds versions to rows that several people can edit, and the normalized text of key names, for search. */
import { sql, type Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';
import { searchText } from '../search/search-text.js';

const STATEMENTS = [
  `alter table account add column version integer not null default 1`,
  `alter table api_key add column version integer not null default 1`,
  `alter table api_key add column search text not null default ''`,
  `alter table audit_entry add column target_version integer`,
  `alter table audit_entry add column actor_label text`,
  // Targets without a version are never looked up.
  `create index audit_entry_target on audit_entry (target_id, target_version) where target_version is not null`,
  // `lower` is correct for ASCII names. Nearly all names are ASCII.
  `update api_key set search = lower(name)`,
  `create index api_key_search on api_key (account_id, search, id)`,
];

export const versions: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
    // For other letters, `lower` differs between the databases. SQLite leaves them unchanged, and PostgreSQL uses its
    // locale.
    const { rows } = await sql<{ id: string; name: string }>`
      select id, name from api_key where octet_length(name) <> length(name)
    `.execute(db);
    for (const { id, name } of rows) {
      await sql`update api_key set search = ${searchText(name)} where id = ${id}`.execute(db);
    }
  },
};
