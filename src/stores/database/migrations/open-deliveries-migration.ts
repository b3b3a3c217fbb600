/** Adds an index for listing the open deliveries of a webhook endpoint, and narrows the index for ordering. */
import { sql, type Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/**
 * The index for ordering no longer contains deliveries without a resource, because such deliveries are unordered. The
 * new index contains them, so each of them still has one index entry.
 */
const STATEMENTS = [
  `drop index webhook_delivery_order`,
  `create index webhook_delivery_order on webhook_delivery (endpoint_id, resource, id)
    where state in ('pending', 'held') and resource is not null`,
  `create index webhook_delivery_open on webhook_delivery (endpoint_id, id) where state in ('pending', 'held')`,
];

/** Deliveries that have ended are in neither index. */
export const openDeliveries: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
  },
};
