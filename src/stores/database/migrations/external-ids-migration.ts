/** Adds the ID in another system and the metadata of accounts and keys. */
import { sql, type Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** The columns are nullable, so that no row is rewritten and the previous version can still insert rows. */
const STATEMENTS = [
  `alter table account add column external_id text`,
  `alter table account add column metadata text`,
  `alter table api_key add column external_id text`,
  `alter table api_key add column metadata text`,
  `create unique index account_external_id on account (external_id) where external_id is not null`,
  `create unique index api_key_external_id on api_key (account_id, external_id) where external_id is not null`,
];

export const externalIds: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
  },
};
