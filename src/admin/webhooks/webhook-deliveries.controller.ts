/** What was delivered to a webhook endpoint, and what was not: a page of it, or one delivery with every attempt. */
import { Controller, Get, HttpCode, Param, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { AccountStore } from '../../accounts/accounts.js';
import type { ChangeContext } from '../../records/audit-log.js';
import { WebhookEndpoints } from '../../webhooks/endpoints/webhook-endpoints.js';
import { DeliveryReader } from '../../webhooks/management/delivery-reader.js';
import { Replays } from '../../webhooks/management/replays.js';
import { inPath, OfAccount } from '../access/of-account.js';
import { Documented } from '../openapi/documented.js';
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

@Controller('admin/v1/webhook-endpoints/:id/deliveries')
@OfAccount('webhook_endpoint', inPath)
export class EndpointDeliveriesController {
  constructor(
    private readonly accounts: AccountStore,
    private readonly endpoints: WebhookEndpoints,
    private readonly deliveries: DeliveryReader,
  ) {}

  @Get()
  @Documented({
    id: 'listWebhookDeliveries',
    summary: 'List the deliveries of a webhook endpoint, newest first',
    response: webhookDeliveryListSchema,
    problems: ['resource_not_found'],
  })
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

@Controller('admin/v1/webhook-deliveries/:id')
@OfAccount('webhook_delivery', inPath)
export class WebhookDeliveriesController {
  constructor(
    private readonly accounts: AccountStore,
    private readonly deliveries: DeliveryReader,
    private readonly replays: Replays,
  ) {}

  @Get()
  @Documented({
    id: 'getWebhookDelivery',
    summary: 'Read a delivery with its attempts and what is sent',
    response: webhookDeliveryDetailSchema,
    problems: ['resource_not_found'],
  })
  async get(@Param('id') id: string): Promise<WebhookDeliveryDetailResource> {
    const detail = await this.deliveries.get(id);
    const { timeZone } = await this.accounts.get(detail.row.account_id);
    return webhookDeliveryDetail(detail, timeZone);
  }

  @Post('retry')
  @HttpCode(202)
  @Documented({
    id: 'retryWebhookDelivery',
    summary: 'Attempt a delivery again, now; its schedule begins anew',
    response: webhookDeliveryDetailSchema,
    status: 202,
    problems: ['resource_not_found', 'conflict', 'webhook_endpoint_disabled'],
  })
  async retry(@Param('id') id: string, @ChangedBy() context: ChangeContext): Promise<WebhookDeliveryDetailResource> {
    await this.replays.retry(id, context);
    return this.get(id);
  }
}
