/** Creates the services of the admin role for webhook endpoints, deliveries, replays and tests. */
import type { EventType, GatewayFile } from '../../config/model/schema.js';
import type { DatabaseHandle } from '../../stores/database/connect.js';
import type { ThrottleWindows } from '../../quota/throttle-windows.js';
import type { Clock } from '../../platform/clock.js';
import type { SecretBox } from '../../stores/secrets/secret-box.js';
import type { WorkSignal } from '../../outbox/work-signal.js';
import { EndpointRules } from '../endpoints/endpoint-rules.js';
import { WebhookEndpoints } from '../endpoints/webhook-endpoints.js';
import { EventCatalogue } from '../../outbox/event-catalogue.js';
import { WebhookSecrets } from '../signing/secret-store.js';
import type { WebhookSender } from '../sending/attempt.js';
import { DeliveryReader } from './delivery-reader.js';
import { Replays } from './replays.js';
import { TestSend } from './test-send.js';

/** Dependencies of the webhook services. */
export interface WebhookParts {
  readonly database: DatabaseHandle;
  readonly clock: Clock;
  readonly secretBox: SecretBox | null;
  readonly signal: WorkSignal;
  /** Sends the test events. */
  readonly sender: WebhookSender;
  /** Stores the rate limits for test events. */
  readonly throttles: ThrottleWindows;
  /** Returns the current configuration. */
  readonly file: () => Pick<GatewayFile, 'webhooks'>;
  readonly eventTypes: () => readonly EventType[];
}

/** The webhook services of the admin API. */
export interface Webhooks {
  readonly endpoints: WebhookEndpoints;
  readonly secrets: WebhookSecrets;
  readonly deliveries: DeliveryReader;
  readonly catalogue: EventCatalogue;
  readonly replays: Replays;
  readonly tests: TestSend;
  readonly sender: WebhookSender;
}

/** Creates the webhook services, which always use the current configuration. */
export function openWebhooks(parts: WebhookParts): Webhooks {
  const { database, clock, secretBox, signal, sender, throttles, file, eventTypes } = parts;
  const catalogue = new EventCatalogue(eventTypes);
  const rules = new EndpointRules(() => file().webhooks, catalogue);
  const secrets = new WebhookSecrets(database.db, secretBox);
  const endpoints = new WebhookEndpoints({ database, clock, secrets, signal, rules });
  return {
    endpoints,
    secrets,
    catalogue,
    sender,
    deliveries: new DeliveryReader(database.db),
    replays: new Replays(database, clock, signal),
    tests: new TestSend({
      database,
      clock,
      secrets,
      catalogue,
      sender,
      throttles,
      timeoutMs: () => file().webhooks.timeout,
    }),
  };
}
