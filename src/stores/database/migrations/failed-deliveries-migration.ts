/** Indexes the failed deliveries of a webhook endpoint. */
import { sql, type Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

const INDEX = `create index webhook_delivery_failed on webhook_delivery (endpoint_id, id) where state = 'failed'`;

/** The index contains only deliveries that have failed permanently, so successful deliveries do not update it. */
export const failedDeliveries: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql.raw(INDEX).execute(db);
  },
};
