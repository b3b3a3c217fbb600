/** What is held behind a failure, where a webhook endpoint wants order, is counted without reading the rest. */
import { sql, type Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

const ON = `create index webhook_delivery_held on webhook_delivery (endpoint_id) where state = 'held'`;

/** A delivery that goes out at once never touches it. */
export const heldDeliveries: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql.raw(ON).execute(db);
  },
};
