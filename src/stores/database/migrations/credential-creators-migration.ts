/** Indexes credentials by the member who created them. The credentials end when that member loses access. */
import { sql, type Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

const STATEMENTS = [
  // Older portal sessions have no creator. They last an hour at most.
  `alter table member_session add column created_by text`,
  `create index member_session_created_by on member_session (created_by) where created_by is not null`,
  `create index link_created_by on link (created_by)`,
  `create index account_token_created_by on account_token (created_by)`,
  `create index api_key_oauth_member_id on api_key (oauth_member_id) where oauth_member_id is not null`,
];

export const credentialCreators: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
  },
};
