/**
 * What becomes of the deliveries of an endpoint that is enabled again, loses its order or is deleted: a part at a time,
 * because there may be very many, and each part behind the lane's lock, as everywhere where order changes.
 */
import { sql, type Kysely, type Transaction } from 'kysely';
import type { Tables } from '../../stores/database/schema.js';
import type { WebhookDeliveryTable } from '../../stores/database/tables/webhook-tables.js';
import { lockLanes, releaseSome, ROWS_AT_ONCE } from '../deliveries/rows/order.js';

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
  return inParts(db, endpointId, async (trx) => {
    let open = trx
      .selectFrom('webhook_delivery')
      .select('id')
      .where('endpoint_id', '=', endpointId)
      .where(sql<boolean>`state in ('pending', 'held')`)
      .limit(ROWS_AT_ONCE);
    if (except !== undefined) {
      const { sinceMs, untilMs } = except;
      open = open.where((where) => where.or([where('created_at', '<', sinceMs), where('created_at', '>', untilMs)]));
    }
    const ended = trx.updateTable('webhook_delivery').set({ state: 'failed', reason, updated_at: nowMs });
    return Number((await ended.where('id', 'in', open).executeTakeFirst()).numUpdatedRows);
  });
}

/** Makes deliveries due at once that wait for their next attempt: what they failed for may be mended. */
export async function makeDueNow(db: Kysely<Tables>, endpointId: string, nowMs: number): Promise<number> {
  return inParts(db, endpointId, async (trx) => {
    const waiting = trx
      .selectFrom('webhook_delivery')
      .select('id')
      .where('endpoint_id', '=', endpointId)
      .where(sql<boolean>`state = 'pending'`)
      .where('due_at', '>', nowMs)
      .limit(ROWS_AT_ONCE);
    const due = trx.updateTable('webhook_delivery').set({ due_at: nowMs, updated_at: nowMs });
    return Number((await due.where('id', 'in', waiting).executeTakeFirst()).numUpdatedRows);
  });
}

/** Lets go of what was held behind others: who reads it next puts it into order anew. */
export async function releaseHeldDeliveries(db: Kysely<Tables>, endpointId: string, nowMs: number): Promise<number> {
  return inParts(db, endpointId, (trx) => releaseSome(trx, endpointId, nowMs));
}

async function inParts(
  db: Kysely<Tables>,
  endpointId: string,
  change: (trx: Transaction<Tables>) => Promise<number>,
): Promise<number> {
  for (let total = 0; ;) {
    const changed = await db.transaction().execute(async (trx) => {
      await lockLanes(trx, [endpointId]);
      return change(trx);
    });
    total += changed;
    if (changed < ROWS_AT_ONCE) return total;
  }
}
