/** Inserts webhook endpoints with their lanes, and creates events and results of deliveries. */
import type { Kysely, Selectable } from 'kysely';
import { newId } from '../../src/stores/database/ids.js';
import type { Tables } from '../../src/stores/database/schema.js';
import type { WebhookDeliveryTable, WebhookEndpointTable } from '../../src/stores/database/tables/webhook-tables.js';
import type { AttemptRecord, DeliveryOutcome } from '../../src/webhooks/deliveries/rows/delivery-results.js';
import {
  readDue,
  type LaneToRead,
  type DueDelivery,
  type DueQuery,
} from '../../src/webhooks/deliveries/rows/due-deliveries.js';
import { addLane } from '../../src/outbox/lane-rows.js';
import type { ForeignEvent } from '../../src/outbox/event-types.js';

/** Options of an endpoint. Missing options get default values. */
export type EndpointOptions = Partial<Omit<WebhookEndpointTable, 'id'>>;

/** Inserts an account, which endpoints need. */
export async function addAccount(db: Kysely<Tables>, id: string, nowMs: number): Promise<void> {
  const times = { created_at: nowMs, updated_at: nowMs, version: 1 };
  const calendar = { plan: 'starter', time_zone: 'UTC', billing_day: 1, grant_period: 0, grant_amount: 0 };
  await db
    .insertInto('account')
    .values({ id, name: id, status: 'active', ...calendar, ...times })
    .execute();
}

/** Inserts an endpoint with its lane. @returns the ID of the endpoint. */
export async function addEndpoint(db: Kysely<Tables>, nowMs: number, options: EndpointOptions = {}): Promise<string> {
  const id = newId('whe', nowMs);
  const usual = { retry_schedule: null, rate_per_second: null, concurrency: null, timeout_ms: null, ordered: 0 };
  const health = { failing_since: null, failures: 0, last_success_at: null, disabled_reason: null };
  const times = {
    created_at: nowMs,
    updated_at: nowMs,
    status_changed_at: nowMs,
    url_set_at: nowMs,
    deleted_at: null,
    version: 1,
  };
  const own = { account_id: 'acc_1', url: 'https://receiver.example/', description: '', event_types: '[]' };
  await db
    .insertInto('webhook_endpoint')
    .values({ id, status: 'enabled', ...own, ...usual, ...health, ...times, ...options })
    .execute();
  await addLane(db, id);
  return id;
}

/** Returns an event of a service. */
export function serviceEvent(name: string, options: Partial<ForeignEvent> = {}): ForeignEvent {
  return {
    type: 'customer.created',
    accountId: 'acc_1',
    dataText: JSON.stringify({ name }),
    dedupeKey: `svc:customers:${name}`,
    source: 'customers',
    resource: null,
    occurredAtMs: 1_795_000_000_000,
    fingerprint: null,
    ...options,
  };
}

/** Returns all deliveries, oldest first. */
export async function deliveriesIn(db: Kysely<Tables>): Promise<Selectable<WebhookDeliveryTable>[]> {
  return db.selectFrom('webhook_delivery').selectAll().orderBy('id').execute();
}

/** Returns the record of an attempt with this outcome. */
export function attemptOf(
  delivery: AttemptRecord['delivery'],
  outcome: DeliveryOutcome,
  options: Partial<AttemptRecord['attempt']> & { readonly isOrdered?: boolean } = {},
): AttemptRecord {
  const { isOrdered = false, ...given } = options;
  const statusCode = outcome.state === 'succeeded' ? 204 : 500;
  const usual = { atMs: 1_795_000_000_000, durationMs: 12, statusCode, error: null, address: '192.0.2.1' };
  return {
    delivery,
    attempt: { ...usual, responseBody: 'no', ...given },
    outcome,
    isOrdered,
    url: 'https://example.com/hook',
  };
}

/** Returns the due deliveries of one endpoint. */
export async function dueOf(db: Kysely<Tables>, asked: LaneToRead, query: DueQuery): Promise<readonly DueDelivery[]> {
  return (await readDue(db, [asked], query)).get(asked.endpointId) ?? [];
}
