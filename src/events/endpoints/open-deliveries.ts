/**
 * What becomes of the deliveries of an endpoint that is enabled again, loses its order or is deleted: a part at a time,
 * because there may be very many. Nobody works on them meanwhile.
 */
import type { Kysely } from 'kysely';
import type { Tables } from '../../database/schema.js';
import type { WebhookDeliveryTable } from '../../database/tables/webhook-tables.js';

/** So many rows are changed in one statement. */
const ROWS_AT_ONCE = 1_000;

/** Deliveries by when they were made, both ends included, in milliseconds. */
export interface DeliverySpan {
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** Ends what is open and was made outside of a span, or all; resolves with how many. */
export async function endOpenDeliveries(
  db: Kysely<Tables>,
  endpointId: string,
  reason: NonNullable<WebhookDeliveryTable['reason']>,
  nowMs: number,
  except?: DeliverySpan,
): Promise<number> {
  return inParts(async () => {
    let open = db
      .selectFrom('webhook_delivery')
      .select('id')
      .where('endpoint_id', '=', endpointId)
      .where('state', 'in', ['pending', 'held'])
      .limit(ROWS_AT_ONCE);
    if (except !== undefined) {
      const { sinceMs, untilMs } = except;
      open = open.where((where) => where.or([where('created_at', '<', sinceMs), where('created_at', '>', untilMs)]));
    }
    const ended = db.updateTable('webhook_delivery').set({ state: 'failed', reason, updated_at: nowMs });
    return (await ended.where('id', 'in', open).executeTakeFirst()).numUpdatedRows;
  });
}

/** Lets go of what was held behind others: who reads it next puts it into order anew. */
export async function releaseHeldDeliveries(db: Kysely<Tables>, endpointId: string, nowMs: number): Promise<number> {
  return inParts(async () => {
    const held = db
      .selectFrom('webhook_delivery')
      .select('id')
      .where('endpoint_id', '=', endpointId)
      .where('state', '=', 'held')
      .limit(ROWS_AT_ONCE);
    const released = db.updateTable('webhook_delivery').set({ state: 'pending', due_at: nowMs, updated_at: nowMs });
    return (await released.where('id', 'in', held).executeTakeFirst()).numUpdatedRows;
  });
}

async function inParts(change: () => Promise<bigint>): Promise<number> {
  for (let total = 0; ;) {
    const changed = Number(await change());
    total += changed;
    if (changed < ROWS_AT_ONCE) return total;
  }
}
