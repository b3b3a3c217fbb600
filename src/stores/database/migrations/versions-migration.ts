/** Versions of what several people may change at once, and what lists of keys are searched and sorted by. */
import { sql, type Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';
import { searchText } from '../search/search-text.js';

const STATEMENTS = [
  `alter table account add column version integer not null default 1`,
  `alter table api_key add column version integer not null default 1`,
  `alter table api_key add column search text not null default ''`,
  `alter table audit_entry add column target_version integer`,
  `alter table audit_entry add column actor_label text`,
  // What has no version is never asked for by its target.
  `create index audit_entry_target on audit_entry (target_id, target_version) where target_version is not null`,
  // Right for names of ASCII, which nearly all are.
  `update api_key set search = lower(name)`,
  `create index api_key_search on api_key (account_id, search, id)`,
];

/** What people may change carries a version, and keys are found by their names. */
export const versions: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
    // What the databases make of other letters differs: SQLite leaves them, PostgreSQL goes by its locale.
    const { rows } = await sql<{ id: string; name: string }>`
      select id, name from api_key where octet_length(name) <> length(name)
    `.execute(db);
    for (const { id, name } of rows) {
      await sql`update api_key set search = ${searchText(name)} where id = ${id}`.execute(db);
    }
  },
};
