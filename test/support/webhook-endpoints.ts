/** Webhook endpoints of accounts, made through the admin API. */
import { addEvents } from '../../src/outbox/outbox.js';
import type { RunningAdmin } from './admin-application.js';
import { serviceEvent } from './webhooks.js';

/** An address that nobody minds: `example.com` is for documentation. */
export const PUBLIC_URL = 'https://shop.trailgate.dev/hooks';

/** An endpoint as it is answered when it is made. */
export interface MadeEndpoint {
  readonly id: string;
  readonly url: string;
  readonly status: string;
  readonly version: number;
  /** Once. */
  readonly secret: string;
  readonly event_types: readonly string[];
  readonly public_keys: readonly { readonly key: string; readonly expires_at: string | null }[];
}

/** IDs of an endpoint that has something to deliver. */
export interface WebhookIds {
  readonly endpoint: string;
  readonly delivery: string;
  readonly event: string;
}

let count = 0;

/** Hands an event of a service in, as the service would. */
export async function addServiceEvent(
  { modules: { database }, clock }: Pick<RunningAdmin, 'modules' | 'clock'>,
  accountId: string,
  type = 'customer.created',
): Promise<void> {
  const now = clock.now();
  const event = serviceEvent(`${accountId}-${++count}`, { type, accountId, resource: 'cus_1', occurredAtMs: now });
  await addEvents(database.db, [event], now);
}

/** Adds an endpoint to an account, and an event that it is to be told. */
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
