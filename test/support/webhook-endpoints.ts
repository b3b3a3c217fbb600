/** Creates webhook endpoints through the admin API. */
import { addEvents } from '../../src/outbox/outbox.js';
import type { RunningAdmin } from './admin-application.js';
import { serviceEvent } from './webhooks.js';

/** URL that is accepted for endpoints, because its host name is public. */
export const PUBLIC_URL = 'https://shop.trailgate.dev/hooks';

/** MadeEndpoint is the response to the creation of an endpoint. */
export interface MadeEndpoint {
  readonly id: string;
  readonly url: string;
  readonly status: string;
  readonly version: number;
  /** Shown only in this response. */
  readonly secret: string;
  readonly event_types: readonly string[];
  readonly public_keys: readonly { readonly key: string; readonly expires_at: string | null }[];
}

/** IDs of an endpoint, and of its delivery and event. */
export interface WebhookIds {
  readonly endpoint: string;
  readonly delivery: string;
  readonly event: string;
}

let count = 0;

/** Adds an event of a service for an account. */
export async function addServiceEvent(
  { modules: { database }, clock }: Pick<RunningAdmin, 'modules' | 'clock'>,
  accountId: string,
  type = 'customer.created',
): Promise<void> {
  const now = clock.now();
  const event = serviceEvent(`${accountId}-${++count}`, { type, accountId, resource: 'cus_1', occurredAtMs: now });
  await addEvents(database.db, [event], now);
}

/** Adds an endpoint to an account, and an event with a delivery to the endpoint. */
export async function newWebhook(running: RunningAdmin, accountId: string): Promise<WebhookIds> {
  const path = `/accounts/${accountId}/webhook-endpoints`;
  const { id: endpoint } = await running.admin.call<MadeEndpoint>('POST', path, { url: PUBLIC_URL });
  await addServiceEvent(running, accountId);
  const row = await running.modules.database.db
    .selectFrom('webhook_delivery')
    .select(['id', 'event_id'])
    .where('endpoint_id', '=', endpoint)
    .executeTakeFirstOrThrow();
  return { endpoint, delivery: row.id, event: row.event_id };
}
