/** Lists the deliveries of a webhook endpoint, reads a delivery with every attempt, and resends a delivery. */
import { Controller, Param, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { AccountStore } from '../../accounts/accounts.js';
import type { ChangeContext } from '../../records/audit-log.js';
import { WebhookEndpoints } from '../../webhooks/endpoints/webhook-endpoints.js';
import { DeliveryReader } from '../../webhooks/management/delivery-reader.js';
import { Replays } from '../../webhooks/management/replays.js';
import { inPath, ResourceOfAccount } from '../access/requested-resource.js';
import { Operation } from '../openapi/operation-decorator.js';
import { ChangedBy } from '../request/change-context.js';
import { listBody, type ListBody } from '../request/list.js';
import {
  deliveryQuerySchema,
  webhookDeliveryDetail,
  webhookDeliveryDetailSchema,
  webhookDeliveryListSchema,
  webhookDeliveryResource,
  type DeliveryQueryFields,
  type WebhookDeliveryDetailResource,
  type WebhookDeliveryResource,
} from './webhook-delivery.resource.js';

@Controller()
@ResourceOfAccount('webhook_endpoint', inPath)
export class EndpointDeliveriesController {
  constructor(
    private readonly accounts: AccountStore,
    private readonly endpoints: WebhookEndpoints,
    private readonly deliveries: DeliveryReader,
  ) {}

  @Operation('listWebhookDeliveries', webhookDeliveryListSchema)
  async list(
    @Param('id') id: string,
    @Query({ schema: deliveryQuerySchema }) query: DeliveryQueryFields,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ListBody<WebhookDeliveryResource>> {
    const { accountId } = await this.endpoints.get(id);
    const { timeZone } = await this.accounts.get(accountId);
    const { since, until, ...rest } = query;
    const page = await this.deliveries.list(id, {
      ...rest,
      sinceMs: since === undefined ? undefined : Date.parse(since),
      untilMs: until === undefined ? undefined : Date.parse(until),
    });
    return listBody(page, (delivery) => webhookDeliveryResource(delivery, timeZone), query, reply);
  }
}

@Controller()
@ResourceOfAccount('webhook_delivery', inPath)
export class WebhookDeliveriesController {
  constructor(
    private readonly accounts: AccountStore,
    private readonly deliveries: DeliveryReader,
    private readonly replays: Replays,
  ) {}

  @Operation('getWebhookDelivery', webhookDeliveryDetailSchema)
  async get(@Param('id') id: string): Promise<WebhookDeliveryDetailResource> {
    const detail = await this.deliveries.get(id);
    const { timeZone } = await this.accounts.get(detail.row.account_id);
    return webhookDeliveryDetail(detail, timeZone);
  }

  @Operation('retryWebhookDelivery', webhookDeliveryDetailSchema)
  async retry(@Param('id') id: string, @ChangedBy() context: ChangeContext): Promise<WebhookDeliveryDetailResource> {
    await this.replays.retry(id, context);
    return this.get(id);
  }
}
