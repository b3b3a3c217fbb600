/** One API key: read, change, rotate, pause, revoke. */
import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { AccountStore } from '../../accounts/accounts.js';
import {
  rotateApiKeySchema,
  updateApiKeySchema,
  type RotateApiKey,
  type UpdateApiKey,
} from '../../accounts/api-key-fields.js';
import type { ApiKey } from '../../accounts/api-key-rows.js';
import { ApiKeyStore } from '../../accounts/api-key-store.js';
import type { ChangeContext } from '../../records/audit-log.js';
import type { ExpectedVersions } from '../../records/versions.js';
import { formatWithOffset } from '../../platform/rfc3339.js';
import { inPath, OfAccount } from '../access/of-account.js';
import { Caller, type Principal } from '../access/principal.js';
import { ChangedBy } from '../request/change-context.js';
import { tagged, unlessKnown } from '../request/etag.js';
import { IfMatch } from '../request/if-match.js';
import { Documented } from '../openapi/documented.js';
import { apiKeyImpactResource, apiKeyImpactSchema, type ApiKeyImpactResource } from './api-key-impact.resource.js';
import {
  apiKeyResource,
  apiKeySchema,
  NO_MEMBERS,
  rotatedApiKeySchema,
  type ApiKeyResource,
  type RotatedApiKeyResource,
} from './api-key.resource.js';

@Controller('admin/v1/api-keys/:id')
@OfAccount('api_key', inPath)
export class ApiKeysController {
  constructor(
    private readonly accounts: AccountStore,
    private readonly keys: ApiKeyStore,
  ) {}

  @Get()
  @Documented({
    id: 'getApiKey',
    summary: 'Read an API key',
    response: apiKeySchema,
    version: 'shown',
    problems: ['resource_not_found'],
  })
  async get(
    @Param('id') id: string,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ApiKeyResource | undefined> {
    return unlessKnown(await this.resource(await this.keys.get(id), caller), reply);
  }

  @Get('impact')
  @Documented({
    id: 'getApiKeyImpact',
    summary: 'Say what changing or revoking an API key would touch: its calls, its secrets, its scopes',
    response: apiKeyImpactSchema,
    problems: ['resource_not_found'],
  })
  async impact(@Param('id') id: string): Promise<ApiKeyImpactResource> {
    const key = await this.keys.get(id);
    const account = await this.accounts.get(key.accountId);
    return apiKeyImpactResource(id, await this.keys.impact(key, account), account.timeZone);
  }

  @Patch()
  @Documented({
    id: 'updateApiKey',
    summary: 'Change an API key: its name, scopes, addresses or expiry',
    response: apiKeySchema,
    version: 'changed',
    problems: ['resource_not_found', 'conflict'],
  })
  async update(
    @Param('id') id: string,
    @Body({ schema: updateApiKeySchema }) body: UpdateApiKey,
    @IfMatch() expected: ExpectedVersions,
    @Caller() caller: Principal,
    @ChangedBy() context: ChangeContext,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ApiKeyResource> {
    return tagged(await this.resource(await this.keys.update(id, body, context, expected), caller), reply);
  }

  @Delete()
  @Documented({
    id: 'revokeApiKey',
    summary: 'Revoke an API key, for good; repeating it changes nothing',
    response: apiKeySchema,
    version: 'changed',
    problems: ['resource_not_found'],
  })
  async revoke(
    @Param('id') id: string,
    @IfMatch() expected: ExpectedVersions,
    @Caller() caller: Principal,
    @ChangedBy() context: ChangeContext,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ApiKeyResource> {
    return tagged(await this.resource(await this.keys.revoke(id, context, expected), caller), reply);
  }

  @Post('pause')
  @HttpCode(200)
  @Documented({
    id: 'pauseApiKey',
    summary: 'Pause an API key: refused with 403 until it goes on; repeating it changes nothing',
    response: apiKeySchema,
    version: 'changed',
    problems: ['resource_not_found', 'conflict'],
  })
  async pause(
    @Param('id') id: string,
    @IfMatch() expected: ExpectedVersions,
    @Caller() caller: Principal,
    @ChangedBy() context: ChangeContext,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ApiKeyResource> {
    return tagged(await this.resource(await this.keys.pause(id, context, expected), caller), reply);
  }

  @Post('resume')
  @HttpCode(200)
  @Documented({
    id: 'resumeApiKey',
    summary: 'Let a paused API key go on as it is; repeating it changes nothing',
    response: apiKeySchema,
    version: 'changed',
    problems: ['resource_not_found', 'conflict'],
  })
  async resume(
    @Param('id') id: string,
    @IfMatch() expected: ExpectedVersions,
    @Caller() caller: Principal,
    @ChangedBy() context: ChangeContext,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ApiKeyResource> {
    return tagged(await this.resource(await this.keys.resume(id, context, expected), caller), reply);
  }

  @Post('rotate')
  @Documented({
    id: 'rotateApiKey',
    summary: 'Give an API key a new secret; the current one works until the overlap ends',
    response: rotatedApiKeySchema,
    status: 201,
    version: 'changed',
    problems: ['resource_not_found', 'conflict', 'previous_secret_active'],
  })
  async rotate(
    @Param('id') id: string,
    @Body({ schema: rotateApiKeySchema }) body: RotateApiKey,
    @IfMatch() expected: ExpectedVersions,
    @ChangedBy() context: ChangeContext,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<RotatedApiKeyResource> {
    // Before the change: once the secret is made, nothing may keep it from being shown.
    const { timeZone } = await this.accounts.get((await this.keys.get(id)).accountId);
    const rotated = await this.keys.rotate(id, body, context, expected);
    const { key, secret, previousSecretExpiresAt } = rotated;
    reply.header('Location', `/admin/v1/api-keys/${id}`);
    const expiresAt = formatWithOffset(previousSecretExpiresAt, timeZone);
    const shown = tagged(apiKeyResource(key, timeZone), reply);
    return { ...shown, secret, previous_secret_expires_at: expiresAt };
  }

  @Post('end-previous-secret')
  @HttpCode(200)
  @Documented({
    id: 'endPreviousApiKeySecret',
    summary: 'End the previous secret of a rotation at once; repeating it changes nothing',
    response: apiKeySchema,
    version: 'changed',
    problems: ['resource_not_found'],
  })
  async endPreviousSecret(
    @Param('id') id: string,
    @IfMatch() expected: ExpectedVersions,
    @Caller() caller: Principal,
    @ChangedBy() context: ChangeContext,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ApiKeyResource> {
    return tagged(await this.resource(await this.keys.endPreviousSecret(id, context, expected), caller), reply);
  }

  private async resource(key: ApiKey, caller: Principal): Promise<ApiKeyResource> {
    const { timeZone } = await this.accounts.get(key.accountId);
    const members = caller.kind === 'portal' ? NO_MEMBERS : await this.keys.whoLetIn([key]);
    return apiKeyResource(key, timeZone, members);
  }
}
