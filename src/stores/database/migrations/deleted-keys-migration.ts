/** Keys of accounts that are being deleted. */
import { sql, type Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** Responses to requests that were in progress are stored after the keys are gone. Their IDs lead to them. */
export const deletedKeys: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql.raw('alter table account_deletion add column key_ids text').execute(db);
  },
};
