/**
 * Creates the webhook deliveries of new events, in the transaction that adds the events. Each endpoint of the account
 * that subscribes to an event's type gets one delivery. An account without endpoints costs one index lookup.
 */
import { sql, type CompiledQuery, type Kysely, type QueryResult } from 'kysely';
import { kindOf } from '../stores/database/database-kind.js';
import { newId } from '../stores/database/ids.js';
import { jsonRows, textList, type JsonColumn } from '../stores/database/json-rows.js';
import type { Tables } from '../stores/database/schema.js';
import type { WebhookEndpointTable } from '../stores/database/tables/webhook-tables.js';
import { executeBatch } from '../stores/database/statement-batch.js';
import { wakeLanesQuery } from './lane-rows.js';

/**
 * How long deliveries are kept, in ms. Afterwards, ended deliveries are deleted, and the others expire. Expired
 * deliveries are kept for another period of this length.
 */
export const DELIVERY_RETENTION_MS = 30 * 24 * 3_600_000;

const ROWS_PER_STATEMENT = 500;

/** AddedEvent is an event that the current transaction has added. */
export interface AddedEvent {
  readonly id: string;
  readonly accountId: string;
  readonly type: string;
  readonly resource: string | null;
  readonly exceptEndpointId?: string | undefined;
}

/** FanOut is the result of `fanOut`. */
export interface FanOut {
  /** Number of deliveries by event ID. Events without deliveries have no entry. */
  readonly deliveries: ReadonlyMap<string, number>;
  /** Enabled endpoints that now have work to do. Signal them after the commit. */
  readonly endpointIds: readonly string[];
}

interface Endpoint {
  readonly id: string;
  readonly patterns: readonly string[];
  readonly isEnabled: boolean;
}

const NOTHING: FanOut = { deliveries: new Map(), endpointIds: [] };

/**
 * Creates the deliveries of added events, and makes the lanes of their enabled endpoints due. Paused and disabled
 * endpoints also get deliveries, which wait until the endpoint is enabled. Deleted endpoints get none.
 * @param trx the transaction in which the events were added.
 * @param found result of `endpointsQuery`, executed after the events in the same transaction.
 */
export async function fanOut(
  trx: Kysely<Tables>,
  events: readonly AddedEvent[],
  found: QueryResult<unknown>,
  nowMs: number,
): Promise<FanOut> {
  const endpoints = endpointsIn(found.rows as readonly EndpointRow[]);
  if (endpoints.size === 0) return NOTHING;
  const deliveries = new Map<string, number>();
  const toWake = new Set<string>();
  const rows: DeliveryRow[] = [];
  for (const event of events) {
    const wanted = (endpoints.get(event.accountId) ?? []).filter(
      ({ id, patterns }) => id !== event.exceptEndpointId && wantsType(patterns, event.type),
    );
    if (wanted.length > 0) deliveries.set(event.id, wanted.length);
    for (const { id, isEnabled } of wanted) {
      rows.push([newId('whd', nowMs), event.id, id, event.accountId, event.resource]);
      if (isEnabled) toWake.add(id);
    }
  }
  const queries: CompiledQuery[] = [];
  for (let at = 0; at < rows.length; at += ROWS_PER_STATEMENT) {
    queries.push(deliveriesQuery(trx, rows.slice(at, at + ROWS_PER_STATEMENT), nowMs));
  }
  const endpointIds = [...toWake];
  if (endpointIds.length > 0) queries.push(wakeLanesQuery(trx, endpointIds, nowMs));
  if (queries.length > 0) await executeBatch(trx, queries);
  return { deliveries, endpointIds };
}

type EndpointRow = Pick<WebhookEndpointTable, 'id' | 'account_id' | 'event_types' | 'status'>;

/**
 * Builds the query for the endpoints of accounts, except deleted endpoints. Callers can send the query in one batch
 * with the events.
 */
export function endpointsQuery(trx: Kysely<Tables>, accountIds: readonly string[]): CompiledQuery {
  const ids = textList(kindOf(trx), [...new Set(accountIds)]);
  const query = sql<EndpointRow>`
    select id, account_id, event_types, status from webhook_endpoint
    where account_id in ${ids} and deleted_at is null order by id`;
  return query.compile(trx);
}

function endpointsIn(rows: readonly EndpointRow[]): ReadonlyMap<string, readonly Endpoint[]> {
  const byAccount = new Map<string, Endpoint[]>();
  for (const { id, account_id: accountId, event_types: types, status } of rows) {
    const endpoint = { id, patterns: JSON.parse(types) as string[], isEnabled: status === 'enabled' };
    const others = byAccount.get(accountId);
    if (others === undefined) byAccount.set(accountId, [endpoint]);
    else others.push(endpoint);
  }
  return byAccount;
}

type DeliveryRow = readonly (string | number | null)[];

const COLUMNS: readonly JsonColumn[] = [
  { name: 'id', type: 'text' },
  { name: 'event_id', type: 'text' },
  { name: 'endpoint_id', type: 'text' },
  { name: 'account_id', type: 'text' },
  { name: 'resource', type: 'text' },
];

/**
 * Inserts deliveries. Skips a delivery if its endpoint already has a delivery of the event. A row contains delivery ID,
 * event ID, endpoint ID, account ID, resource.
 */
export async function insertDeliveries(
  trx: Kysely<Tables>,
  rows: readonly DeliveryRow[],
  nowMs: number,
): Promise<void> {
  await trx.executeQuery(deliveriesQuery(trx, rows, nowMs));
}

function deliveriesQuery(trx: Kysely<Tables>, rows: readonly DeliveryRow[], nowMs: number): CompiledQuery {
  const keepUntil = nowMs + DELIVERY_RETENTION_MS;
  // Without `where true`, SQLite would parse `on` as part of a join.
  const query = sql`
    insert into webhook_delivery (id, event_id, endpoint_id, account_id, resource, state, kind, due_at, created_at,
      updated_at, keep_until)
    select id, event_id, endpoint_id, account_id, resource, 'pending', 'event', cast(${nowMs} as bigint),
      cast(${nowMs} as bigint), cast(${nowMs} as bigint), cast(${keepUntil} as bigint)
    from ${jsonRows(kindOf(trx), COLUMNS, rows, 'added')} where true
    on conflict (event_id, endpoint_id, kind) do nothing`;
  return query.compile(trx);
}

/**
 * Reports whether an endpoint's subscription matches an event type. Patterns are names, or families such as
 * `customer.*`. An empty list matches all types.
 */
export function wantsType(patterns: readonly string[], type: string): boolean {
  return patterns.length === 0 || patterns.some((pattern) => matchesPattern(pattern, type));
}

function matchesPattern(pattern: string, type: string): boolean {
  return pattern.endsWith('.*') ? type.startsWith(pattern.slice(0, -1)) : type === pattern;
}
