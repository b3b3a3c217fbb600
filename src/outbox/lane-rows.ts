/**
 * The rows of lanes as those see them who make work for a webhook endpoint, or take it away: a lane is an endpoint as
 * the workers see it. When it is due is a hint, the deliveries say what is so; see `lanes.ts`.
 */
import { sql, type CompiledQuery, type Kysely, type RawBuilder } from 'kysely';
import { kindOf } from '../stores/database/database-kind.js';
import { textList } from '../stores/database/json-rows.js';
import type { Tables } from '../stores/database/schema.js';

/** When a lane is due that has nothing to do. */
export const ASLEEP = Number.MAX_SAFE_INTEGER;

/** Adds the lane of a new endpoint, in the transaction that adds the endpoint. */
export async function addLane(trx: Kysely<Tables>, endpointId: string): Promise<void> {
  await trx
    .insertInto('webhook_lane')
    .values({ endpoint_id: endpointId, due_at: ASLEEP, owner: null, owned_until: 0 })
    .execute();
}

/**
 * Makes lanes due, last in a transaction that has made work for them. Where one is due already, no row is touched and
 * none is locked. Only of endpoints that are enabled; tell `WorkSignal` behind the commit.
 */
export async function wakeLanes(trx: Kysely<Tables>, endpointIds: readonly string[], nowMs: number): Promise<void> {
  if (endpointIds.length > 0) await trx.executeQuery(wakeLanesQuery(trx, endpointIds, nowMs));
}

/** What `wakeLanes` executes: for who has more to send to the database with it. */
export function wakeLanesQuery(trx: Kysely<Tables>, endpointIds: readonly string[], nowMs: number): CompiledQuery {
  const ids = textList(kindOf(trx), endpointIds);
  const asleep = inOrder(trx, sql`endpoint_id in ${ids} and due_at > ${nowMs}`);
  return sql`update webhook_lane set due_at = ${nowMs} where endpoint_id in ${asleep}`.compile(trx);
}

/** Puts a lane to sleep whose endpoint is to be told nothing for now; its owner lets go of it when it hears. */
export async function quietLane(trx: Kysely<Tables>, endpointId: string): Promise<void> {
  await trx.updateTable('webhook_lane').set({ due_at: ASLEEP }).where('endpoint_id', '=', endpointId).execute();
}

/**
 * `(select endpoint_id …)` of the lanes that fulfil a condition, locked in one order for all: two that want the same
 * lanes wait for each other, no deadlock.
 */
export function inOrder(db: Kysely<Tables>, condition: RawBuilder<unknown>): RawBuilder<unknown> {
  const lock = kindOf(db) === 'postgres' ? sql`for update` : sql``;
  return sql`(select endpoint_id from webhook_lane where ${condition} order by endpoint_id ${lock})`;
}
