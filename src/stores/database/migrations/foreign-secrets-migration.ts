/** Marks imported secrets that another system has created. Their format has no Trailgate checksum. */
import { sql, type Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** The index finds secrets of other systems without a scan of the other secrets. */
const STATEMENTS = [
  `alter table api_key_secret add column is_foreign integer`,
  `create index api_key_secret_foreign on api_key_secret (api_key_id) where is_foreign = 1`,
];

export const foreignSecrets: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
  },
};
