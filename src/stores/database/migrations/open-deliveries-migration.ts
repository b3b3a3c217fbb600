/** What waits for a webhook endpoint is listed, newest first, without reading what has ended. */
import { sql, type Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** What is about no resource stands before nothing: it leaves the one index, and costs no more with the other. */
const STATEMENTS = [
  `drop index webhook_delivery_order`,
  `create index webhook_delivery_order on webhook_delivery (endpoint_id, resource, id)
    where state in ('pending', 'held') and resource is not null`,
  `create index webhook_delivery_open on webhook_delivery (endpoint_id, id) where state in ('pending', 'held')`,
];

/** A delivery that has ended is in neither of them. */
export const openDeliveries: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
  },
};
