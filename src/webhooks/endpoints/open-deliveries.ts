/**
 * Changes the open deliveries of an endpoint when the endpoint is changed, deleted or replayed. Open deliveries are
 * pending or held. Works in batches, because an endpoint can have a large number of deliveries. Each batch locks the
 * lane, as all changes of held deliveries must.
 */
import { sql, type Kysely, type Transaction } from 'kysely';
import type { Tables } from '../../stores/database/schema.js';
import type { WebhookDeliveryTable } from '../../stores/database/tables/webhook-tables.js';
import { lockLanes, releaseSome, ROWS_AT_ONCE } from '../deliveries/rows/order.js';

/** A range of creation times in milliseconds, both ends included. */
export interface DeliverySpan {
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** Ends open deliveries, except deliveries that were created within a range. Returns the number of ended deliveries. */
export async function endOpenDeliveries(
  db: Kysely<Tables>,
  endpointId: string,
  reason: NonNullable<WebhookDeliveryTable['reason']>,
  nowMs: number,
  except?: DeliverySpan,
): Promise<number> {
  return inBatches(db, endpointId, async (trx) => {
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

/**
 * Makes pending deliveries due now that were due later, because the cause of their failures may be fixed. Returns their
 * number.
 */
export async function makeDueNow(db: Kysely<Tables>, endpointId: string, nowMs: number): Promise<number> {
  return inBatches(db, endpointId, async (trx) => {
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

/**
 * Releases held deliveries, and returns their number. If the endpoint is ordered, the next read of due deliveries holds
 * them again.
 */
export async function releaseHeldDeliveries(db: Kysely<Tables>, endpointId: string, nowMs: number): Promise<number> {
  return inBatches(db, endpointId, (trx) => releaseSome(trx, endpointId, nowMs));
}

/** Repeats a change, each time in a new transaction, until it changes less than a full batch. Returns the total. */
async function inBatches(
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
