/** Indexes the open deliveries of a webhook endpoint, for listing them newest first. */
import { sql, type Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/**
 * Deliveries without a resource have no order, so the first index omits them. The second index has them instead, so
 * their cost stays the same.
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
