/**
 * Updates the lanes of webhook endpoints when work is added or removed. A lane is the work queue of one endpoint. A
 * lane's due time is only a hint. The due times of the deliveries are authoritative. See
 * `src/webhooks/deliveries/rows/lanes.ts`.
 */
import { sql, type CompiledQuery, type Kysely, type RawBuilder } from 'kysely';
import { kindOf } from '../stores/database/database-kind.js';
import { textList } from '../stores/database/json-rows.js';
import type { Tables } from '../stores/database/schema.js';

/** Due time of a lane that has no work, or whose endpoint is not enabled. */
export const ASLEEP = Number.MAX_SAFE_INTEGER;

/** Adds the lane of a new endpoint. Call it in the transaction that adds the endpoint. */
export async function addLane(trx: Kysely<Tables>, endpointId: string): Promise<void> {
  await trx
    .insertInto('webhook_lane')
    .values({ endpoint_id: endpointId, due_at: ASLEEP, owner: null, owned_until: 0 })
    .execute();
}

/**
 * Makes the lanes of endpoints due now. All of the endpoints must be enabled. Call it last in the transaction that adds
 * work, and call `WorkSignal.signalEndpoints` after the commit. Lanes that are already due are neither updated nor
 * locked.
 */
export async function wakeLanes(trx: Kysely<Tables>, endpointIds: readonly string[], nowMs: number): Promise<void> {
  if (endpointIds.length > 0) await trx.executeQuery(wakeLanesQuery(trx, endpointIds, nowMs));
}

/** Returns the query of `wakeLanes`, so that callers can send it in a batch. */
export function wakeLanesQuery(trx: Kysely<Tables>, endpointIds: readonly string[], nowMs: number): CompiledQuery {
  const ids = textList(kindOf(trx), endpointIds);
  const asleep = inOrder(trx, sql`endpoint_id in ${ids} and due_at > ${nowMs}`);
  return sql`update webhook_lane set due_at = ${nowMs} where endpoint_id in ${asleep}`.compile(trx);
}

/**
 * Sets a lane to `ASLEEP` because its endpoint must not receive anything for now. The process that owns the lane
 * releases the lane when `WorkSignal` reports the endpoint.
 */
export async function deactivateLane(trx: Kysely<Tables>, endpointId: string): Promise<void> {
  await trx.updateTable('webhook_lane').set({ due_at: ASLEEP }).where('endpoint_id', '=', endpointId).execute();
}

/**
 * Returns the subquery `(select endpoint_id …)` for the lanes that match a condition. On PostgreSQL, the subquery locks
 * these lanes in a fixed order, so that concurrent transactions wait for each other instead of deadlocking.
 */
export function inOrder(db: Kysely<Tables>, condition: RawBuilder<unknown>): RawBuilder<unknown> {
  const lock = kindOf(db) === 'postgres' ? sql`for update` : sql``;
  return sql`(select endpoint_id from webhook_lane where ${condition} order by endpoint_id ${lock})`;
}
