/** Lists and creates the webhook endpoints of an account. */
import { Body, Controller, Param, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { AccountStore } from '../../accounts/accounts.js';
import type { ChangeContext } from '../../records/audit-log.js';
import { createWebhookEndpointSchema, type CreateWebhookEndpoint } from '../../webhooks/endpoints/endpoint-fields.js';
import { WebhookEndpoints } from '../../webhooks/endpoints/webhook-endpoints.js';
import { Operation } from '../openapi/operation-decorator.js';
import { ChangedBy } from '../request/change-context.js';
import { withETag } from '../request/etag.js';
import { listBody, pageQuerySchema, type ListBody, type PageQuery } from '../request/list.js';
import {
  webhookEndpointListSchema,
  webhookEndpointResource,
  webhookEndpointWithSecretSchema,
  type WebhookEndpointResource,
  type WebhookEndpointWithSecretResource,
} from './webhook-endpoint.resource.js';
import { WebhookEndpointReader } from './webhook-endpoint-reader.js';

@Controller()
export class AccountWebhookEndpointsController {
  constructor(
    private readonly accounts: AccountStore,
    private readonly endpoints: WebhookEndpoints,
    private readonly reader: WebhookEndpointReader,
  ) {}

  @Operation('listWebhookEndpoints', webhookEndpointListSchema)
  async list(
    @Param('id') accountId: string,
    @Query({ schema: pageQuerySchema }) query: PageQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ListBody<WebhookEndpointResource>> {
    const { timeZone } = await this.accounts.get(accountId);
    const page = await this.endpoints.list(accountId, query);
    const keys = await this.reader.publicKeys(page.data.map(({ id }) => id));
    return listBody(
      page,
      (endpoint) => webhookEndpointResource(endpoint, keys.get(endpoint.id) ?? [], timeZone),
      query,
      reply,
    );
  }

  @Operation('createWebhookEndpoint', webhookEndpointWithSecretSchema)
  async create(
    @Param('id') accountId: string,
    @Body({ schema: createWebhookEndpointSchema }) body: CreateWebhookEndpoint,
    @ChangedBy() context: ChangeContext,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WebhookEndpointWithSecretResource> {
    const { timeZone } = await this.accounts.get(accountId);
    const { endpoint, secret } = await this.endpoints.create(accountId, body, context);
    reply.header('Location', `/admin/v1/webhook-endpoints/${endpoint.id}`);
    return { ...withETag(await this.reader.resource(endpoint, timeZone), reply), secret };
  }
}
