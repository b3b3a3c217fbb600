/** Indexes the deliveries of ordered webhook endpoints that are held behind a failed one. */
import { sql, type Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

const ON = `create index webhook_delivery_held on webhook_delivery (endpoint_id) where state = 'held'`;

/** Deliveries that are sent at once do not touch the index. */
export const heldDeliveries: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql.raw(ON).execute(db);
  },
};
