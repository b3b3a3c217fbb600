/** Stores the key IDs of accounts that are being deleted. */
import { sql, type Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/**
 * Requests in progress can write idempotency records after their keys are deleted. The deletion finds and deletes these
 * records by the key IDs.
 */
export const deletedKeys: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql.raw('alter table account_deletion add column key_ids text').execute(db);
  },
};
