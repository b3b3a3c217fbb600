/** Sends a test event to a webhook endpoint, and resends deliveries of the endpoint. */
import { Body, Controller, Param } from '@nestjs/common';
import { z } from 'zod';
import { AccountStore } from '../../accounts/accounts.js';
import type { ChangeContext } from '../../records/audit-log.js';
import { eventPatternField, eventTypeField, instantField } from '../../webhooks/endpoints/endpoint-fields.js';
import { WebhookEndpoints } from '../../webhooks/endpoints/webhook-endpoints.js';
import { DeliveryReader } from '../../webhooks/management/delivery-reader.js';
import { Replays } from '../../webhooks/management/replays.js';
import { TestSend } from '../../webhooks/management/test-send.js';
import { inPath, ResourceOfAccount } from '../access/requested-resource.js';
import { Operation } from '../openapi/operation-decorator.js';
import { countField } from '../openapi/fields.js';
import { ChangedBy } from '../request/change-context.js';
import {
  webhookDeliveryDetail,
  webhookDeliveryDetailSchema,
  type WebhookDeliveryDetailResource,
} from './webhook-delivery.resource.js';

const testSchema = z
  .strictObject({
    type: eventTypeField
      .optional()
      .meta({ description: 'Event type of the example; default: `webhook.test`.', example: 'customer.created' }),
  })
  .meta({ id: 'TestWebhookEndpoint' });

const replaySchema = z
  .strictObject({
    status: z
      .enum(['failed', 'succeeded', 'all'])
      .default('failed')
      .meta({
        description:
          'Deliveries to resend. `all`: failed and successful ones, and events of the period that the ' +
          'endpoint was not subscribed to.',
      }),
    since: instantField.optional().meta({ description: 'Only deliveries created at this time or later.' }),
    until: instantField
      .optional()
      .meta({ description: 'Only deliveries created at this time or earlier; default: now.' }),
    types: z
      .array(eventPatternField)
      .min(1)
      .max(100)
      .optional()
      .meta({ description: 'Only these event types and families.' }),
  })
  .meta({ id: 'ReplayWebhookDeliveries' });

const replayedSchema = z.object({ replayed: countField }).meta({ id: 'ReplayedWebhookDeliveries' });

@Controller()
@ResourceOfAccount('webhook_endpoint', inPath)
export class EndpointActionsController {
  constructor(
    private readonly accounts: AccountStore,
    private readonly endpoints: WebhookEndpoints,
    private readonly deliveries: DeliveryReader,
    private readonly replays: Replays,
    private readonly tests: TestSend,
  ) {}

  @Operation('testWebhookEndpoint', webhookDeliveryDetailSchema)
  async test(
    @Param('id') id: string,
    @Body({ schema: testSchema }) { type }: z.output<typeof testSchema>,
    @ChangedBy() context: ChangeContext,
  ): Promise<WebhookDeliveryDetailResource> {
    const endpoint = await this.endpoints.get(id);
    const { timeZone } = await this.accounts.get(endpoint.accountId);
    const deliveryId = await this.tests.send(endpoint, type, context);
    return webhookDeliveryDetail(await this.deliveries.get(deliveryId), timeZone);
  }

  @Operation('replayWebhookDeliveries', replayedSchema)
  async replay(
    @Param('id') id: string,
    @Body({ schema: replaySchema }) { status, since, until, types }: z.output<typeof replaySchema>,
    @ChangedBy() context: ChangeContext,
  ): Promise<z.output<typeof replayedSchema>> {
    const at = (instant: string | undefined): number | undefined =>
      instant === undefined ? undefined : Date.parse(instant);
    const query = { status, sinceMs: at(since), untilMs: at(until), types };
    return { replayed: await this.replays.replayAll(id, query, context) };
  }
}
