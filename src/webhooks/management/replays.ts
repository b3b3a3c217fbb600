/**
 * Replays deliveries on request: a single delivery, or all matching deliveries of an endpoint. A replayed delivery
 * starts its retry schedule from the beginning. Deliveries can be replayed any number of times during their retention.
 */
import { sql, type RawBuilder, type SelectQueryBuilder, type SqlBool, type Transaction } from 'kysely';
import { newId } from '../../stores/database/ids.js';
import { recordChange, type ChangeContext } from '../../records/audit-log.js';
import type { DatabaseHandle } from '../../stores/database/connect.js';
import type { Tables } from '../../stores/database/schema.js';
import type { Clock } from '../../platform/clock.js';
import { Problem } from '../../platform/problems/errors.js';
import { DELIVERY_RETENTION_MS, insertDeliveries, wantsType } from '../../outbox/fan-out.js';
import { wakeLanes } from '../../outbox/lane-rows.js';
import type { WorkSignal } from '../../outbox/work-signal.js';
import { makeDueNow } from '../endpoints/open-deliveries.js';
import { lockWebhookEndpoint, webhookEndpointOf, type WebhookEndpoint } from '../endpoints/endpoint-rows.js';
import { TEST_SOURCE } from '../../outbox/own-events.js';
import { deliveryNotFound } from './delivery-reader.js';

/**
 * Filters for the deliveries of an endpoint. `sinceMs` and `untilMs` are creation times of deliveries, both inclusive.
 */
export interface ReplayQuery {
  readonly status: 'failed' | 'succeeded' | 'all';
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
  /** Event types and families such as `customer.*`; undefined for all types. */
  readonly types?: readonly string[] | undefined;
}

/** Maximum number of rows that one transaction changes. */
const ROWS_AT_ONCE = 1_000;
/** Maximum number of replayed deliveries per request; the same limit applies to added deliveries. */
const MAX_REPLAYED = 100_000;

type Deliveries = SelectQueryBuilder<Tables, 'webhook_delivery', object>;

/** Replays makes deliveries due, so that the workers attempt them again. */
export class Replays {
  constructor(
    private readonly database: DatabaseHandle,
    private readonly clock: Clock,
    private readonly signal: WorkSignal,
  ) {}

  /**
   * Replays one delivery now. Rejects with `resource_not_found` if the delivery or its endpoint does not exist. Rejects
   * with `webhook_endpoint_disabled` if the endpoint is not enabled, and with `conflict` if the delivery is held.
   */
  async retry(id: string, context: ChangeContext): Promise<void> {
    const now = this.clock.now();
    const endpointId = await this.database.db.transaction().execute(async (trx) => {
      const found = await trx.selectFrom('webhook_delivery').selectAll().where('id', '=', id).executeTakeFirst();
      if (found === undefined) throw deliveryNotFound();
      const endpoint = await enabledEndpoint(trx, found.endpoint_id);
      authorizeHistory(context, endpoint, found.created_at);
      const replayed = await replay(trx, now).where('id', '=', id).returning('cycle').executeTakeFirst();
      if (replayed === undefined) {
        const detail = 'The delivery waits for an earlier one of the same resource and is attempted after it.';
        throw new Problem('conflict', { detail });
      }
      await wakeLanes(trx, [found.endpoint_id], now);
      const target = { accountId: found.account_id, targetType: 'webhook_delivery', targetId: id } as const;
      const change = { before: { status: found.state }, after: { status: 'pending', replays: replayed.cycle } };
      await recordChange(trx, context, { ...target, action: 'webhook_delivery.retried', ...change }, now);
      return found.endpoint_id;
    });
    this.signal.signalEndpoints([endpointId]);
  }

  /**
   * Replays all matching deliveries that have ended. With status `all`, also delivers events for which the endpoint has
   * no delivery, for example because they are older. Pending deliveries become due, but are not replayed. The audit
   * entry with the number of matching deliveries is written first. If the process ends halfway, the entry shows who
   * started the replay. Rejects with `validation_failed` if too many deliveries match, and with
   * `webhook_endpoint_disabled`.
   * @returns the number of replayed and added deliveries.
   */
  async replayAll(endpointId: string, query: ReplayQuery, context: ChangeContext): Promise<number> {
    const { db } = this.database;
    const now = this.clock.now();
    // Exclude deliveries that are created from now on.
    const bounded = { ...query, untilMs: Math.min(query.untilMs ?? now, now) };
    const endpoint = await db.transaction().execute(async (trx) => {
      const found = await enabledEndpoint(trx, endpointId);
      const { version, accountId } = found;
      authorizeHistory(context, found, Math.max(query.sinceMs ?? 0, query.status === 'all' ? 0 : found.createdAt));
      const after = { matching: await countMatching(trx, endpointId, bounded), ...auditedQuery(query) };
      const target = { accountId, targetType: 'webhook_endpoint', targetId: endpointId } as const;
      const change = { action: 'webhook_endpoint.replayed', targetVersion: version, before: null, after } as const;
      await recordChange(trx, context, { ...target, ...change }, now);
      return found;
    });
    let total = 0;
    for (let after: string | undefined = ''; after !== undefined;) {
      const from: string = after;
      const page = await db.transaction().execute((trx) => replayPage(trx, endpointId, bounded, from, now));
      total += page.count;
      after = page.after;
    }
    if (query.status === 'all') total += await this.addMissing(endpoint, bounded, now);
    // The receiver has probably been fixed. Make its pending deliveries due as well.
    await makeDueNow(db, endpointId, now);
    await db.transaction().execute((trx) => wakeLanes(trx, [endpointId], now));
    this.signal.signalEndpoints([endpointId]);
    return total;
  }

  /**
   * Adds deliveries for events that the endpoint is subscribed to but has no delivery of, for example because they are
   * older. Stops at about `MAX_REPLAYED`. Returns the number of added deliveries.
   */
  private async addMissing(endpoint: WebhookEndpoint, query: ReplayQuery, now: number): Promise<number> {
    const { db } = this.database;
    let total = 0;
    for (let after = ''; total < MAX_REPLAYED;) {
      const events = await db
        .selectFrom('event')
        .select(['id', 'type', 'resource'])
        .where('account_id', '=', endpoint.accountId)
        .where('id', '>', after)
        .where('source', '!=', TEST_SOURCE)
        .where('created_at', '>=', query.sinceMs ?? 0)
        .where('created_at', '<=', query.untilMs ?? now)
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom('webhook_delivery')
                .select('webhook_delivery.id')
                .whereRef('event_id', '=', 'event.id')
                .where('endpoint_id', '=', endpoint.id),
            ),
          ),
        )
        .orderBy('id')
        .limit(ROWS_AT_ONCE)
        .execute();
      const wanted = events.filter(
        ({ type }) =>
          wantsType(endpoint.eventTypes, type) && (query.types === undefined || wantsType(query.types, type)),
      );
      const rows = wanted.map(({ id, resource }) => [newId('whd', now), id, endpoint.id, endpoint.accountId, resource]);
      if (rows.length > 0) await insertDeliveries(db, rows, now);
      total += rows.length;
      if (events.length < ROWS_AT_ONCE) return total;
      after = events.at(-1)?.id ?? after;
    }
    return total;
  }
}

/** Returns the number of matching deliveries. Rejects with `validation_failed` if more than `MAX_REPLAYED` match. */
async function countMatching(trx: Transaction<Tables>, endpointId: string, query: ReplayQuery): Promise<number> {
  const limited = matching(trx.selectFrom('webhook_delivery'), endpointId, query)
    .select('id')
    .limit(MAX_REPLAYED + 1);
  const { count } = await trx
    .selectFrom(limited.as('some'))
    .select(sql<number>`count(*)`.as('count'))
    .executeTakeFirstOrThrow();
  if (Number(count) <= MAX_REPLAYED) return Number(count);
  const detail = `covers more than ${MAX_REPLAYED.toLocaleString('en')} deliveries. Replay shorter time ranges`;
  const errors = [{ pointer: '#/since', detail }];
  throw new Problem('validation_failed', { detail: 'The request covers too many deliveries.', errors });
}

/**
 * Replays the next batch of deliveries.
 * @param from ID of the last delivery of the previous batch; empty for the first batch.
 * @returns `after`, which is `from` of the next call; undefined after the last batch.
 */
async function replayPage(
  trx: Transaction<Tables>,
  endpointId: string,
  query: ReplayQuery,
  from: string,
  now: number,
): Promise<{ readonly count: number; readonly after: string | undefined }> {
  const ids = await matching(trx.selectFrom('webhook_delivery'), endpointId, query)
    .select('id')
    .where('id', '>', from)
    .orderBy('id')
    .limit(ROWS_AT_ONCE)
    .execute();
  const last = ids.at(-1)?.id;
  if (last === undefined) return { count: 0, after: undefined };
  const result = await replay(trx, now)
    .where(
      'id',
      'in',
      ids.map(({ id }) => id),
    )
    .executeTakeFirst();
  return { count: Number(result.numUpdatedRows), after: ids.length < ROWS_AT_ONCE ? undefined : last };
}

/**
 * Returns an update that makes deliveries due as if they were new. Excludes held deliveries, which become due after an
 * earlier delivery.
 */
function replay(trx: Transaction<Tables>, now: number) {
  return trx
    .updateTable('webhook_delivery')
    .set(({ eb }) => ({
      state: 'pending' as const,
      reason: null,
      due_at: now,
      attempts: 0,
      cycle: eb('cycle', '+', 1),
      updated_at: now,
      keep_until: now + DELIVERY_RETENTION_MS,
    }))
    .where('state', '!=', 'held');
}

/** Selects the matching deliveries of an endpoint that have ended. Excludes tests, because users can send new ones. */
function matching(deliveries: Deliveries, endpointId: string, query: ReplayQuery): Deliveries {
  const { status, sinceMs, untilMs, types } = query;
  let found = deliveries.where('endpoint_id', '=', endpointId).where('kind', '=', 'event');
  // Write the state as a literal, because the planner does not use a partial index for a parameter.
  if (status === 'all') found = found.where('state', 'in', ['failed', 'succeeded']);
  else found = found.where('state', '=', sql.lit(status));
  if (sinceMs !== undefined) found = found.where('created_at', '>=', sinceMs);
  if (untilMs !== undefined) found = found.where('created_at', '<=', untilMs);
  if (types !== undefined) {
    found = found.where(({ exists, selectFrom }) => {
      const ofType = selectFrom('event').select('event.id').whereRef('event.id', '=', 'webhook_delivery.event_id');
      return exists(ofType.where(({ or }) => or(types.map(isOfType))));
    });
  }
  return found;
}

/** Returns an SQL condition for an event type or a family of types. */
function isOfType(type: string): RawBuilder<SqlBool> {
  if (!type.endsWith('.*')) return sql`event.type = ${type}`;
  // Escape `_`, which matches any character in `like`.
  return sql`event.type like ${`${type.slice(0, -1).replaceAll('_', '~_')}%`} escape '~'`;
}

/**
 * Checks that the actor may send events from `sinceMs` on, because these events may be older than the endpoint's URL.
 * @throws Problem if not.
 */
function authorizeHistory({ authorize }: ChangeContext, { urlSetAt }: WebhookEndpoint, sinceMs: number): void {
  authorize?.('webhook_history', { sinceMs: urlSetAt }, { sinceMs });
}

/**
 * Reads and locks an endpoint. Rejects with `resource_not_found`, or with `webhook_endpoint_disabled` if the endpoint
 * is not enabled.
 */
async function enabledEndpoint(trx: Transaction<Tables>, id: string): Promise<WebhookEndpoint> {
  const endpoint = webhookEndpointOf(await lockWebhookEndpoint(trx, id));
  if (endpoint.status === 'enabled') return endpoint;
  const detail = `The webhook endpoint is ${endpoint.status}: enable it first. Waiting deliveries are then sent.`;
  throw new Problem('webhook_endpoint_disabled', { detail });
}

function auditedQuery({ status, sinceMs, untilMs, types }: ReplayQuery): Record<string, unknown> {
  const at = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms).toISOString());
  return { status, since: at(sinceMs), until: at(untilMs), types };
}
