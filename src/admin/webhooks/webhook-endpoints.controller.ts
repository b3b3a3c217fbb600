/** One webhook endpoint: read, change, delete, give it a new secret. */
import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Res } from '@nestjs/common';
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
import { inPath, OfAccount } from '../access/of-account.js';
import { Caller, isOperator, type Principal } from '../access/principal.js';
import { Documented } from '../openapi/documented.js';
import { ChangedBy } from '../request/change-context.js';
import { tagged, unlessKnown } from '../request/etag.js';
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

@Controller('admin/v1/webhook-endpoints/:id')
@OfAccount('webhook_endpoint', inPath)
export class WebhookEndpointsController {
  constructor(
    private readonly endpoints: WebhookEndpoints,
    private readonly reader: WebhookEndpointReader,
  ) {}

  @Get()
  @Documented({
    id: 'getWebhookEndpoint',
    summary: 'Read a webhook endpoint, and how many deliveries wait for it',
    response: webhookEndpointDetailSchema,
    version: 'shown',
    problems: ['resource_not_found'],
  })
  async get(
    @Param('id') id: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WebhookEndpointDetailResource | undefined> {
    return unlessKnown(await this.reader.detail(await this.endpoints.get(id)), reply);
  }

  @Patch()
  @Documented({
    id: 'updateWebhookEndpoint',
    summary: 'Change a webhook endpoint, pause it or enable it; what waits goes to a new URL',
    response: webhookEndpointSchema,
    version: 'changed',
    problems: ['resource_not_found', 'forbidden', 'conflict'],
  })
  async update(
    @Param('id') id: string,
    @Body({ schema: updateWebhookEndpointSchema }) body: UpdateWebhookEndpoint,
    @IfMatch() expected: ExpectedVersions,
    @Caller() caller: Principal,
    @ChangedBy() context: ChangeContext,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WebhookEndpointResource> {
    const change = { context, expected, isOperator: isOperator(caller) };
    return tagged(await this.reader.resource(await this.endpoints.update(id, body, change)), reply);
  }

  @Delete()
  @HttpCode(204)
  @Documented({
    id: 'deleteWebhookEndpoint',
    summary: 'Delete a webhook endpoint and its secrets; what waits for it is given up',
    response: null,
    status: 204,
    version: 'changed',
    problems: ['resource_not_found'],
  })
  async delete(
    @Param('id') id: string,
    @IfMatch() expected: ExpectedVersions,
    @ChangedBy() context: ChangeContext,
  ): Promise<void> {
    await this.endpoints.delete(id, { context, expected });
  }

  @Post('rotate-secret')
  @Documented({
    id: 'rotateWebhookSecret',
    summary: 'Give a webhook endpoint a new secret; until the overlap ends everything is signed with both',
    response: webhookEndpointWithSecretSchema,
    status: 201,
    version: 'changed',
    problems: ['resource_not_found', 'previous_secret_active', 'webhook_secret_in_use', 'secrets_unavailable'],
  })
  async rotateSecret(
    @Param('id') id: string,
    @Body({ schema: rotateWebhookSecretSchema }) body: RotateWebhookSecret,
    @IfMatch() expected: ExpectedVersions,
    @ChangedBy() context: ChangeContext,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WebhookEndpointWithSecretResource> {
    const { endpoint, secret } = await this.endpoints.rotateSecret(id, body, { context, expected });
    reply.header('Location', `/admin/v1/webhook-endpoints/${id}`);
    return { ...tagged(await this.reader.resource(endpoint), reply), secret };
  }

  @Post('end-previous-secret')
  @HttpCode(200)
  @Documented({
    id: 'endPreviousWebhookSecret',
    summary: 'Sign with the current secret alone from now on; repeating it changes nothing',
    response: webhookEndpointSchema,
    version: 'changed',
    problems: ['resource_not_found'],
  })
  async endPreviousSecret(
    @Param('id') id: string,
    @IfMatch() expected: ExpectedVersions,
    @ChangedBy() context: ChangeContext,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WebhookEndpointResource> {
    return tagged(await this.reader.resource(await this.endpoints.endPreviousSecret(id, { context, expected })), reply);
  }
}
