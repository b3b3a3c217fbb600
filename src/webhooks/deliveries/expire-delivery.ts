/** Ends a delivery that has nothing to deliver any more: its event is gone. */
import type { Kysely } from 'kysely';
import type { Tables } from '../../stores/database/schema.js';
import type { DueDelivery } from './due-deliveries.js';
import { lockLanes, releaseNext } from './order.js';

/** Ends it as expired. @returns the endpoints that have something to do by that: what stood behind it. */
export async function expireDelivery(
  db: Kysely<Tables>,
  { id, endpointId, resource }: DueDelivery,
  nowMs: number,
): Promise<string[]> {
  return await db.transaction().execute(async (trx) => {
    await lockLanes(trx, [endpointId]);
    await trx
      .updateTable('webhook_delivery')
      .set({ state: 'failed', reason: 'expired', updated_at: nowMs })
      .where('id', '=', id)
      .where('state', '=', 'pending')
      .execute();
    return resource === null ? [] : await releaseNext(trx, [{ endpointId, resource }], nowMs);
  });
}
