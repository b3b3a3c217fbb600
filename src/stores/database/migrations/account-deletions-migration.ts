/** Creates the table of accounts that are being deleted. */
import { sql, type Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** `account_id` has no foreign key, because the row outlives its account. */
export const accountDeletions: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql.raw('create table account_deletion (account_id text primary key, begun_at bigint not null)').execute(db);
  },
};
