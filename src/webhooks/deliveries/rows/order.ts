/**
 * Order by resource, for endpoints that want it: what stands behind an open delivery of its resource is held, and comes
 * when that one has succeeded or failed for good. Whoever holds and whoever releases locks the lane first: or one would
 * hold what the other has just not seen to be held.
 */
import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { DatabaseHandle } from '../../../stores/database/connect.js';
import { kindOf } from '../../../stores/database/database-kind.js';
import { jsonRows, textList, type JsonColumn } from '../../../stores/database/json-rows.js';
import type { Tables } from '../../../stores/database/schema.js';
import { inOrder, wakeLanes } from '../../../outbox/lane-rows.js';

/** A resource as an endpoint hears of it. */
export interface ResourceOfEndpoint {
  readonly endpointId: string;
  readonly resource: string;
}

/** So many rows are changed in one statement. */
export const ROWS_AT_ONCE = 1_000;

const COLUMNS: readonly JsonColumn[] = [
  { name: 'ended_endpoint', type: 'text' },
  { name: 'ended_resource', type: 'text' },
];

/** Locks the lanes of endpoints until the transaction ends. On SQLite a transaction has everything. */
export async function lockLanes(trx: Kysely<Tables>, endpointIds: readonly string[]): Promise<void> {
  if (endpointIds.length === 0 || kindOf(trx) === 'sqlite') return;
  await inOrder(trx, sql`endpoint_id in (${sql.join(endpointIds)})`).execute(trx);
}

/**
 * Holds those of these deliveries that still stand behind an open one of their resource, where the endpoint wants order
 * still.
 */
export async function holdBlocked(
  db: Kysely<Tables>,
  endpointId: string,
  deliveryIds: readonly string[],
  nowMs: number,
): Promise<void> {
  if (deliveryIds.length === 0) return;
  await db.transaction().execute(async (trx) => {
    await lockLanes(trx, [endpointId]);
    await sql`
      update webhook_delivery set state = 'held', updated_at = ${nowMs}
      where id in (${sql.join(deliveryIds)}) and state = 'pending' and exists (
        select 1 from webhook_delivery as o where o.endpoint_id = webhook_delivery.endpoint_id
        and o.resource = webhook_delivery.resource and o.state in ('pending', 'held') and o.id < webhook_delivery.id)
      and exists (select 1 from webhook_endpoint as e where e.id = webhook_delivery.endpoint_id and e.ordered = 1)
    `.execute(trx);
  });
}

/**
 * Makes the next of each resource due where it is held. Call it where deliveries of them have ended, in that
 * transaction, behind `lockLanes`.
 * @returns the endpoints that have something to do by that.
 */
export async function releaseNext(
  trx: Kysely<Tables>,
  ended: readonly ResourceOfEndpoint[],
  nowMs: number,
): Promise<string[]> {
  if (ended.length === 0) return [];
  const released = await releaseFirst(kindOf(trx), ended, nowMs, sql``).execute(trx);
  return wakeEnabled(
    trx,
    released.rows.map((row) => row.endpoint_id),
    nowMs,
  );
}

/** Locks the lanes of those of these endpoints that want order, as `lockLanes` does. */
export function lockOrdered(kind: DatabaseHandle['kind'], endpointIds: readonly string[]): RawBuilder<unknown> {
  return sql`
    select endpoint_id from webhook_lane where endpoint_id in (
      select id from webhook_endpoint where id in ${textList(kind, endpointIds)} and ordered = 1)
    order by endpoint_id ${kind === 'postgres' ? sql`for update` : sql``}`;
}

/** As `releaseNext`, where the endpoints want order. Returns the endpoint of each that is due now; wakes no lane. */
export function releaseOrdered(
  kind: DatabaseHandle['kind'],
  ended: readonly ResourceOfEndpoint[],
  nowMs: number,
): RawBuilder<unknown> {
  const wantsOrder = sql`and exists (select 1 from webhook_endpoint as e
    where e.id = webhook_delivery.endpoint_id and e.ordered = 1)`;
  return releaseFirst(kind, ended, nowMs, wantsOrder);
}

function releaseFirst(
  kind: DatabaseHandle['kind'],
  ended: readonly ResourceOfEndpoint[],
  nowMs: number,
  also: RawBuilder<unknown>,
): RawBuilder<{ endpoint_id: string }> {
  const rows = ended.map(({ endpointId, resource }) => [endpointId, resource]);
  return sql<{ endpoint_id: string }>`
    update webhook_delivery set state = 'pending', due_at = ${nowMs}, updated_at = ${nowMs}
    where state = 'held' and id in (select (
      select d.id from webhook_delivery as d where d.endpoint_id = ended_endpoint and d.resource = ended_resource
      and d.state in ('pending', 'held') order by d.id limit 1) from ${jsonRows(kind, COLUMNS, rows, 'ended')})
    ${also} returning endpoint_id`;
}

/**
 * Makes due what an endpoint holds: it wants no order any more, or much of what stood before has been given up. Behind
 * `lockLanes`, in a transaction, and again as long as there is more.
 * @returns how many: at most `ROWS_AT_ONCE`.
 */
export async function releaseSome(trx: Kysely<Tables>, endpointId: string, nowMs: number): Promise<number> {
  const held = trx
    .selectFrom('webhook_delivery')
    .select('id')
    .where('endpoint_id', '=', endpointId)
    .where('state', '=', 'held')
    .limit(ROWS_AT_ONCE);
  const released = trx.updateTable('webhook_delivery').set({ state: 'pending', due_at: nowMs, updated_at: nowMs });
  return Number((await released.where('id', 'in', held).executeTakeFirst()).numUpdatedRows);
}

async function wakeEnabled(trx: Kysely<Tables>, endpointIds: readonly string[], nowMs: number): Promise<string[]> {
  if (endpointIds.length === 0) return [];
  const rows = await trx
    .selectFrom('webhook_endpoint')
    .select('id')
    .where('id', 'in', [...new Set(endpointIds)])
    .where('status', '=', 'enabled')
    .where('deleted_at', 'is', null)
    .execute();
  const enabled = rows.map(({ id }) => id);
  await wakeLanes(trx, enabled, nowMs);
  return enabled;
}
