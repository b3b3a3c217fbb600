/** What has failed at a webhook endpoint is found without reading what has not. */
import { sql, type Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

const ON = `create index webhook_delivery_failed on webhook_delivery (endpoint_id, id) where state = 'failed'`;

/** Only what has failed for good is in the index: a delivery that succeeds never touches it. */
export const failedDeliveries: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql.raw(ON).execute(db);
  },
};
