/** Stores the key IDs of accounts that are being deleted. */
import { sql, type Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/**
 * Idempotency records of requests in progress can be written after the keys are deleted. The key IDs are needed to find
 * and delete these records.
 */
export const deletedKeys: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql.raw('alter table account_deletion add column key_ids text').execute(db);
  },
};
