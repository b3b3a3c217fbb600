/** Lists the Nest controllers and providers for events, webhook endpoints and deliveries. */
import type { Provider, Type } from '@nestjs/common';
import { WebhookEndpoints } from '../webhooks/endpoints/webhook-endpoints.js';
import type { Webhooks } from '../webhooks/management/open-webhooks.js';
import { DeliveryReader } from '../webhooks/management/delivery-reader.js';
import { Replays } from '../webhooks/management/replays.js';
import { TestSend } from '../webhooks/management/test-send.js';
import { EventCatalogue } from '../outbox/event-catalogue.js';
import { WebhookSecrets } from '../webhooks/signing/secret-store.js';
import { AccountEventsController, EventsController } from './events/events.controller.js';
import { AccountWebhookEndpointsController } from './webhooks/account-webhook-endpoints.controller.js';
import { EndpointActionsController } from './webhooks/endpoint-actions.controller.js';
import { EventTypesController } from './webhooks/event-types.controller.js';
import { EndpointDeliveriesController, WebhookDeliveriesController } from './webhooks/webhook-deliveries.controller.js';
import { WebhookEndpointReader } from './webhooks/webhook-endpoint-reader.js';
import { WebhookEndpointsController } from './webhooks/webhook-endpoints.controller.js';

export const WEBHOOK_CONTROLLERS: readonly Type[] = [
  AccountEventsController,
  EventsController,
  EventTypesController,
  AccountWebhookEndpointsController,
  WebhookEndpointsController,
  EndpointDeliveriesController,
  EndpointActionsController,
  WebhookDeliveriesController,
];

/** Returns the Nest providers that `WEBHOOK_CONTROLLERS` depend on. */
export function webhookProviders(webhooks: Webhooks): Provider[] {
  return [
    { provide: WebhookEndpoints, useValue: webhooks.endpoints },
    { provide: WebhookSecrets, useValue: webhooks.secrets },
    { provide: DeliveryReader, useValue: webhooks.deliveries },
    { provide: Replays, useValue: webhooks.replays },
    { provide: TestSend, useValue: webhooks.tests },
    { provide: EventCatalogue, useValue: webhooks.catalogue },
    WebhookEndpointReader,
  ];
}
