/** Reads, changes and deletes one webhook endpoint, and rotates its signing secret. */
import { Body, Controller, Param, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { ChangeContext } from '../../records/audit-log.js';
import type { ExpectedVersions } from '../../records/versions.js';
import {
  rotateWebhookSecretSchema,
  updateWebhookEndpointSchema,
  type RotateWebhookSecret,
  type UpdateWebhookEndpoint,
} from '../../webhooks/endpoints/endpoint-fields.js';
import { WebhookEndpoints } from '../../webhooks/endpoints/webhook-endpoints.js';
import { inPath, ResourceOfAccount } from '../access/requested-resource.js';
import { Caller, isOperator, type Principal } from '../access/principal.js';
import { Operation } from '../openapi/operation-decorator.js';
import { ChangedBy } from '../request/change-context.js';
import { withETag, unlessNotModified } from '../request/etag.js';
import { IfMatch } from '../request/if-match.js';
import { WebhookEndpointReader } from './webhook-endpoint-reader.js';
import {
  webhookEndpointDetailSchema,
  webhookEndpointSchema,
  webhookEndpointWithSecretSchema,
  type WebhookEndpointDetailResource,
  type WebhookEndpointResource,
  type WebhookEndpointWithSecretResource,
} from './webhook-endpoint.resource.js';

@Controller()
@ResourceOfAccount('webhook_endpoint', inPath)
export class WebhookEndpointsController {
  constructor(
    private readonly endpoints: WebhookEndpoints,
    private readonly reader: WebhookEndpointReader,
  ) {}

  @Operation('getWebhookEndpoint', webhookEndpointDetailSchema)
  async get(
    @Param('id') id: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WebhookEndpointDetailResource | undefined> {
    return unlessNotModified(await this.reader.detail(await this.endpoints.get(id)), reply);
  }

  @Operation('updateWebhookEndpoint', webhookEndpointSchema)
  async update(
    @Param('id') id: string,
    @Body({ schema: updateWebhookEndpointSchema }) body: UpdateWebhookEndpoint,
    @IfMatch() expected: ExpectedVersions,
    @Caller() caller: Principal,
    @ChangedBy() context: ChangeContext,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WebhookEndpointResource> {
    const change = { context, expected, isOperator: isOperator(caller) };
    return withETag(await this.reader.resource(await this.endpoints.update(id, body, change)), reply);
  }

  @Operation('deleteWebhookEndpoint')
  async delete(
    @Param('id') id: string,
    @IfMatch() expected: ExpectedVersions,
    @ChangedBy() context: ChangeContext,
  ): Promise<void> {
    await this.endpoints.delete(id, { context, expected });
  }

  @Operation('rotateWebhookSecret', webhookEndpointWithSecretSchema)
  async rotateSecret(
    @Param('id') id: string,
    @Body({ schema: rotateWebhookSecretSchema }) body: RotateWebhookSecret,
    @IfMatch() expected: ExpectedVersions,
    @ChangedBy() context: ChangeContext,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WebhookEndpointWithSecretResource> {
    const { endpoint, secret } = await this.endpoints.rotateSecret(id, body, { context, expected });
    reply.header('Location', `/admin/v1/webhook-endpoints/${id}`);
    return { ...withETag(await this.reader.resource(endpoint), reply), secret };
  }

  @Operation('endPreviousWebhookSecret', webhookEndpointSchema)
  async endPreviousSecret(
    @Param('id') id: string,
    @IfMatch() expected: ExpectedVersions,
    @ChangedBy() context: ChangeContext,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WebhookEndpointResource> {
    return withETag(
      await this.reader.resource(await this.endpoints.endPreviousSecret(id, { context, expected })),
      reply,
    );
  }
}
