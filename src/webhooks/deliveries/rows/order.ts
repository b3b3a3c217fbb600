/**
 * Ordering by resource, for ordered endpoints. A delivery behind an open one of the same resource is held. It becomes
 * due when that one has succeeded or finally failed. Holding and releasing lock the lane first. Otherwise one could
 * hold a delivery that the other has just failed to release.
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

/** Maximum number of rows changed per statement. */
export const ROWS_AT_ONCE = 1_000;

const COLUMNS: readonly JsonColumn[] = [
  { name: 'ended_endpoint', type: 'text' },
  { name: 'ended_resource', type: 'text' },
];

/**
 * Locks the lanes of endpoints until the transaction ends. Not needed on SQLite, where a transaction excludes all
 * others.
 */
export async function lockLanes(trx: Kysely<Tables>, endpointIds: readonly string[]): Promise<void> {
  if (endpointIds.length === 0 || kindOf(trx) === 'sqlite') return;
  await inOrder(trx, sql`endpoint_id in (${sql.join(endpointIds)})`).execute(trx);
}

/**
 * Holds deliveries that must wait for an earlier open delivery of the same resource, if the endpoint is still ordered.
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
 * Makes the next held delivery of each resource due. Call it in the transaction that ended deliveries, after
 * `lockLanes`.
 * @returns the endpoints that have work now.
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

/** Locks the lanes of the ordered endpoints among these; see `lockLanes`. */
export function lockOrdered(kind: DatabaseHandle['kind'], endpointIds: readonly string[]): RawBuilder<unknown> {
  return sql`
    select endpoint_id from webhook_lane where endpoint_id in (
      select id from webhook_endpoint where id in ${textList(kind, endpointIds)} and ordered = 1)
    order by endpoint_id ${kind === 'postgres' ? sql`for update` : sql``}`;
}

/**
 * Like `releaseNext`, for ordered endpoints only. Returns the endpoints of the released deliveries and wakes no lane.
 */
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
 * Releases held deliveries of an endpoint, because it is no longer ordered or earlier ones were given up. Call it in a
 * transaction after `lockLanes`, and repeat it while there are more.
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
