/** Indexes the failed deliveries of a webhook endpoint. */
import { sql, type Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

const ON = `create index webhook_delivery_failed on webhook_delivery (endpoint_id, id) where state = 'failed'`;

/** The index contains permanently failed deliveries only, so successful ones do not touch it. */
export const failedDeliveries: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql.raw(ON).execute(db);
  },
};
