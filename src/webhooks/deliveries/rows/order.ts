/**
 * Delivers the events of a resource in order, for ordered endpoints. While an earlier delivery of the same resource has
 * not ended, a delivery is held. When the earlier delivery has succeeded or finally failed, the next one becomes due.
 * Both holding and releasing lock the lane first. Otherwise a delivery could be held after its release, and wait
 * forever.
 */
import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { DatabaseHandle } from '../../../stores/database/connect.js';
import { kindOf } from '../../../stores/database/database-kind.js';
import { jsonRows, textList, type JsonColumn } from '../../../stores/database/json-rows.js';
import type { Tables } from '../../../stores/database/schema.js';
import { inOrder, wakeLanes } from '../../../outbox/lane-rows.js';

/** A resource of one endpoint. */
export interface ResourceOfEndpoint {
  readonly endpointId: string;
  readonly resource: string;
}

/** Maximum number of rows that one statement changes. */
export const ROWS_AT_ONCE = 1_000;

const COLUMNS: readonly JsonColumn[] = [
  { name: 'ended_endpoint', type: 'text' },
  { name: 'ended_resource', type: 'text' },
];

/**
 * Locks the lanes of endpoints until the transaction ends. Does nothing on SQLite, where a transaction excludes all
 * others.
 */
export async function lockLanes(trx: Kysely<Tables>, endpointIds: readonly string[]): Promise<void> {
  if (endpointIds.length === 0 || kindOf(trx) === 'sqlite') return;
  await inOrder(trx, sql`endpoint_id in (${sql.join(endpointIds)})`).execute(trx);
}

/**
 * Holds the given deliveries that must wait for an earlier delivery of the same resource. Holds none if the endpoint is
 * no longer ordered.
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
 * Makes the next held delivery of each resource due. Call this in the transaction that ended deliveries, after
 * `lockLanes`.
 * @returns the IDs of enabled endpoints that have due deliveries now. Notify workers after the commit.
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

/** Returns a query that locks the lanes of the ordered endpoints among these; see `lockLanes`. */
export function lockOrdered(kind: DatabaseHandle['kind'], endpointIds: readonly string[]): RawBuilder<unknown> {
  return sql`
    select endpoint_id from webhook_lane where endpoint_id in (
      select id from webhook_endpoint where id in ${textList(kind, endpointIds)} and ordered = 1)
    order by endpoint_id ${kind === 'postgres' ? sql`for update` : sql``}`;
}

/**
 * Returns a query that makes the next held delivery of each resource due, for ordered endpoints only. The query returns
 * the endpoints of the released deliveries. Unlike `releaseNext`, it does not make their lanes due.
 */
export function releaseOrdered(
  kind: DatabaseHandle['kind'],
  ended: readonly ResourceOfEndpoint[],
  nowMs: number,
): RawBuilder<unknown> {
  const isOrdered = sql`and exists (select 1 from webhook_endpoint as e
    where e.id = webhook_delivery.endpoint_id and e.ordered = 1)`;
  return releaseFirst(kind, ended, nowMs, isOrdered);
}

/** Returns a query that releases the first open delivery of each resource if this delivery is held. */
function releaseFirst(
  kind: DatabaseHandle['kind'],
  ended: readonly ResourceOfEndpoint[],
  nowMs: number,
  extraCondition: RawBuilder<unknown>,
): RawBuilder<{ endpoint_id: string }> {
  const rows = ended.map(({ endpointId, resource }) => [endpointId, resource]);
  return sql<{ endpoint_id: string }>`
    update webhook_delivery set state = 'pending', due_at = ${nowMs}, updated_at = ${nowMs}
    where state = 'held' and id in (select (
      select d.id from webhook_delivery as d where d.endpoint_id = ended_endpoint and d.resource = ended_resource
      and d.state in ('pending', 'held') order by d.id limit 1) from ${jsonRows(kind, COLUMNS, rows, 'ended')})
    ${extraCondition} returning endpoint_id`;
}

/**
 * Releases held deliveries of an endpoint, because the endpoint is no longer ordered, or earlier deliveries were
 * skipped. Call this in a transaction after `lockLanes`. Repeat the call while it releases `ROWS_AT_ONCE`.
 * @returns the number of released deliveries, at most `ROWS_AT_ONCE`.
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

/** Makes the lanes of enabled endpoints due. Returns the IDs of these endpoints. */
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
