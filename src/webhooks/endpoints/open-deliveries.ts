/**
 * Changes the open deliveries of an endpoint that is enabled, loses its order or is deleted. Works in batches because
 * there may be very many. Each batch locks the lane, as every change of order does.
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

/** Ends open deliveries, except those created within a range. Returns their number. */
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

/** Makes waiting deliveries due now, because the cause of their failure may be fixed. Returns their number. */
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

/** Releases held deliveries. The next read restores the order. Returns their number. */
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
