/** Indexes the deliveries of ordered webhook endpoints that wait for an earlier, failed delivery. */
import { sql, type Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

const INDEX = `create index webhook_delivery_held on webhook_delivery (endpoint_id) where state = 'held'`;

/** Deliveries that are sent immediately do not update the index. */
export const heldDeliveries: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql.raw(INDEX).execute(db);
  },
};
