/** Reads, changes, rotates, pauses, resumes and revokes one API key. */
import { Body, Controller, Param, Res } from '@nestjs/common';
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
import { inPath, ResourceOfAccount } from '../access/requested-resource.js';
import { Caller, type Principal } from '../access/principal.js';
import { ChangedBy } from '../request/change-context.js';
import { withETag, unlessNotModified } from '../request/etag.js';
import { IfMatch } from '../request/if-match.js';
import { Operation } from '../openapi/operation-decorator.js';
import { apiKeyImpactResource, apiKeyImpactSchema, type ApiKeyImpactResource } from './api-key-impact.resource.js';
import {
  apiKeyResource,
  apiKeySchema,
  NO_MEMBERS,
  rotatedApiKeySchema,
  type ApiKeyResource,
  type RotatedApiKeyResource,
} from './api-key.resource.js';

@Controller()
@ResourceOfAccount('api_key', inPath)
export class ApiKeysController {
  constructor(
    private readonly accounts: AccountStore,
    private readonly keys: ApiKeyStore,
  ) {}

  @Operation('getApiKey', apiKeySchema)
  async get(
    @Param('id') id: string,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ApiKeyResource | undefined> {
    return unlessNotModified(await this.resource(await this.keys.get(id), caller), reply);
  }

  @Operation('getApiKeyImpact', apiKeyImpactSchema)
  async impact(@Param('id') id: string): Promise<ApiKeyImpactResource> {
    const key = await this.keys.get(id);
    const account = await this.accounts.get(key.accountId);
    return apiKeyImpactResource(id, await this.keys.readImpact(key, account), account.timeZone);
  }

  @Operation('updateApiKey', apiKeySchema)
  async update(
    @Param('id') id: string,
    @Body({ schema: updateApiKeySchema }) body: UpdateApiKey,
    @IfMatch() expected: ExpectedVersions,
    @Caller() caller: Principal,
    @ChangedBy() context: ChangeContext,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ApiKeyResource> {
    return withETag(await this.resource(await this.keys.update(id, body, context, expected), caller), reply);
  }

  @Operation('revokeApiKey', apiKeySchema)
  async revoke(
    @Param('id') id: string,
    @IfMatch() expected: ExpectedVersions,
    @Caller() caller: Principal,
    @ChangedBy() context: ChangeContext,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ApiKeyResource> {
    return withETag(await this.resource(await this.keys.revoke(id, context, expected), caller), reply);
  }

  @Operation('pauseApiKey', apiKeySchema)
  async pause(
    @Param('id') id: string,
    @IfMatch() expected: ExpectedVersions,
    @Caller() caller: Principal,
    @ChangedBy() context: ChangeContext,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ApiKeyResource> {
    return withETag(await this.resource(await this.keys.pause(id, context, expected), caller), reply);
  }

  @Operation('resumeApiKey', apiKeySchema)
  async resume(
    @Param('id') id: string,
    @IfMatch() expected: ExpectedVersions,
    @Caller() caller: Principal,
    @ChangedBy() context: ChangeContext,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ApiKeyResource> {
    return withETag(await this.resource(await this.keys.resume(id, context, expected), caller), reply);
  }

  @Operation('rotateApiKey', rotatedApiKeySchema)
  async rotate(
    @Param('id') id: string,
    @Body({ schema: rotateApiKeySchema }) body: RotateApiKey,
    @IfMatch() expected: ExpectedVersions,
    @ChangedBy() context: ChangeContext,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<RotatedApiKeyResource> {
    // Read the time zone first. After the rotation, a failed read would lose the new secret.
    const { timeZone } = await this.accounts.get((await this.keys.get(id)).accountId);
    const rotated = await this.keys.rotate(id, body, context, expected);
    const { key, secret, previousSecretExpiresAt } = rotated;
    reply.header('Location', `/admin/v1/api-keys/${id}`);
    const expiresAt = formatWithOffset(previousSecretExpiresAt, timeZone);
    const resource = withETag(apiKeyResource(key, timeZone), reply);
    return { ...resource, secret, previous_secret_expires_at: expiresAt };
  }

  @Operation('endPreviousApiKeySecret', apiKeySchema)
  async endPreviousSecret(
    @Param('id') id: string,
    @IfMatch() expected: ExpectedVersions,
    @Caller() caller: Principal,
    @ChangedBy() context: ChangeContext,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ApiKeyResource> {
    return withETag(await this.resource(await this.keys.endPreviousSecret(id, context, expected), caller), reply);
  }

  /** Returns the API resource of a key. Omits the names of members for portal sessions. */
  private async resource(key: ApiKey, caller: Principal): Promise<ApiKeyResource> {
    const { timeZone } = await this.accounts.get(key.accountId);
    const members = caller.kind === 'portal' ? NO_MEMBERS : await this.keys.findAuthorizers([key]);
    return apiKeyResource(key, timeZone, members);
  }
}
