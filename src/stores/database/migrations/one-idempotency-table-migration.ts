/** Drops the table of the admin API's idempotency keys, which are in `idempotent_request` now. */
import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** Leaves one table of idempotency keys. A key of the last day is forgotten by the upgrade. */
export const oneIdempotencyTable: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.dropTable('idempotency').execute();
  },
};
