/** Reads deliveries for the admin API: a page of deliveries, or a single delivery with its attempts and payload. */
import { sql, type Kysely } from 'kysely';
import { decodeCursor, pageOf, type Page, type PageRequest } from '../../stores/database/cursor.js';
import type { Tables } from '../../stores/database/schema.js';
import type { WebhookAttemptTable, WebhookDeliveryTable } from '../../stores/database/tables/webhook-tables.js';
import { Problem } from '../../platform/problems/errors.js';
import { payloadOf } from '../sending/attempt.js';

/** The latest attempt of a delivery, as shown in lists. */
export type LastAttempt = Pick<WebhookAttemptTable, 'at' | 'status_code' | 'error'>;

/** A delivery without its payload. */
export interface Delivery {
  readonly row: WebhookDeliveryTable;
  /** Event type; null if the event was deleted. */
  readonly type: string | null;
  /** Null if no attempt was made yet. */
  readonly lastAttempt: LastAttempt | null;
}

/** A delivery with its attempts and payload. */
export interface DeliveryDetail extends Delivery {
  /** The latest attempts, at most `MAX_ATTEMPTS`, oldest first. */
  readonly attempts: readonly WebhookAttemptTable[];
  /** JSON body as sent to the receiver; null if the event was deleted. */
  readonly payload: string | null;
}

/** Status of a delivery in the API. Held deliveries count as pending. */
export type DeliveryStatus = 'pending' | 'succeeded' | 'failed';

/** Filters for deliveries. The time range applies to the creation and includes both limits. */
export interface DeliveryQuery extends PageRequest {
  readonly status?: DeliveryStatus | undefined;
  readonly type?: string | undefined;
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
}

/** Maximum count of waiting deliveries. Limited, because an endpoint can have a million of them. */
export const MAX_COUNTED = 1_000;

/** Maximum number of attempts that are returned per delivery. Older attempts are left out. */
const MAX_ATTEMPTS = 200;

/** DeliveryReader reads deliveries from the database. */
export class DeliveryReader {
  constructor(private readonly db: Kysely<Tables>) {}

  /** Lists the deliveries of an endpoint, newest first. */
  async list(endpointId: string, query: DeliveryQuery): Promise<Page<Delivery>> {
    const { cursor, limit, status, type, sinceMs, untilMs } = query;
    const list = `deliveries:${JSON.stringify([endpointId, status, type, sinceMs, untilMs])}`;
    let select = this.db
      .selectFrom('webhook_delivery as delivery')
      .leftJoin('event', 'event.id', 'delivery.event_id')
      .selectAll('delivery')
      .select('event.type')
      .where('delivery.endpoint_id', '=', endpointId);
    // Write states as literals, because the planner does not use a partial index for a parameter.
    if (status === 'pending') select = select.where(sql<boolean>`delivery.state in ('pending', 'held')`);
    else if (status !== undefined) select = select.where('delivery.state', '=', sql.lit(status));
    if (type !== undefined) select = select.where('event.type', '=', type);
    if (sinceMs !== undefined) select = select.where('delivery.created_at', '>=', sinceMs);
    if (untilMs !== undefined) select = select.where('delivery.created_at', '<=', untilMs);
    if (cursor !== undefined) select = select.where('delivery.id', '<', decodeCursor(list, cursor));
    const rows = await select
      .orderBy('delivery.id', 'desc')
      .limit(limit + 1)
      .execute();
    const last = await this.lastAttempts(rows.slice(0, limit).map(({ id }) => id));
    return pageOf(list, limit, rows, ({ type: eventType, ...row }) => ({
      row,
      type: eventType,
      lastAttempt: last.get(row.id) ?? null,
    }));
  }

  /** Reads a delivery. Rejects with `resource_not_found` if no delivery has this ID. */
  async get(id: string): Promise<DeliveryDetail> {
    const row = await this.db.selectFrom('webhook_delivery').selectAll().where('id', '=', id).executeTakeFirst();
    if (row === undefined) throw deliveryNotFound();
    const event = await this.db.selectFrom('event').selectAll().where('id', '=', row.event_id).executeTakeFirst();
    const newestFirst = await this.db
      .selectFrom('webhook_attempt')
      .selectAll()
      .where('delivery_id', '=', id)
      .orderBy('id', 'desc')
      .limit(MAX_ATTEMPTS)
      .execute();
    const payload =
      event &&
      payloadOf({
        id: event.id,
        type: event.type,
        accountId: event.account_id,
        occurredAtMs: event.occurred_at,
        data: event.data,
      }).toString();
    return {
      row,
      type: event?.type ?? null,
      lastAttempt: newestFirst[0] ?? null,
      attempts: newestFirst.toReversed(),
      payload: payload ?? null,
    };
  }

  /** Returns the number of waiting deliveries of an endpoint, at most `MAX_COUNTED`. */
  async countWaiting(endpointId: string): Promise<number> {
    const rows = await this.db
      .selectFrom('webhook_delivery')
      .select('id')
      .where('endpoint_id', '=', endpointId)
      .where(sql<boolean>`state in ('pending', 'held')`)
      .limit(MAX_COUNTED)
      .execute();
    return rows.length;
  }

  private async lastAttempts(ids: readonly string[]): Promise<ReadonlyMap<string, LastAttempt>> {
    if (ids.length === 0) return new Map();
    const rows = await this.db
      .selectFrom('webhook_attempt')
      .select(['delivery_id', 'at', 'status_code', 'error'])
      .where('delivery_id', 'in', ids)
      .orderBy('id')
      .execute();
    return new Map(rows.map(({ delivery_id: id, ...attempt }) => [id, attempt]));
  }
}

export function deliveryNotFound(): Problem {
  return new Problem('resource_not_found', { detail: 'There is no delivery with this ID.' });
}
