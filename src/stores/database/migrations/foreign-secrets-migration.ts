/** Marks imported secrets that another system has created. Their format has no checksum of ours. */
import { sql, type Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** The index shows whether there are such secrets, without reading the others. */
const STATEMENTS = [
  `alter table api_key_secret add column is_foreign integer`,
  `create index api_key_secret_foreign on api_key_secret (api_key_id) where is_foreign = 1`,
];

export const foreignSecrets: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
  },
};
