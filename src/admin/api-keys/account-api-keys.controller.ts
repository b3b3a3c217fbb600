/** Lists and creates the API keys of an account. */
import { Body, Controller, Param, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { AccountStore } from '../../accounts/accounts.js';
import { createApiKeySchema, type CreateApiKey } from '../../accounts/api-key-fields.js';
import { ApiKeyStore } from '../../accounts/api-key-store.js';
import type { ChangeContext } from '../../records/audit-log.js';
import { Caller, type Principal } from '../access/principal.js';
import { GrantedScopes } from '../access/portal-scopes.js';
import { ChangedBy } from '../request/change-context.js';
import { withETag } from '../request/etag.js';
import { listBody, type ListBody } from '../request/list.js';
import { Operation } from '../openapi/operation-decorator.js';
import { apiKeyQuerySchema, type ApiKeyQueryFields } from './api-key-query.js';
import {
  apiKeyListSchema,
  apiKeyResource,
  apiKeyWithSecretSchema,
  listedApiKeyResource,
  NO_MEMBERS,
  type ListedApiKeyResource,
  type ApiKeyWithSecretResource,
} from './api-key.resource.js';

/**
 * Member ID that matches no member. Replaces the filter `authorized_by` for portal sessions, which must not learn which
 * member authorized a key.
 */
const NO_MEMBER_ID = '';

@Controller()
export class AccountApiKeysController {
  constructor(
    private readonly accounts: AccountStore,
    private readonly keys: ApiKeyStore,
  ) {}

  @Operation('listApiKeys', apiKeyListSchema)
  async list(
    @Param('id') accountId: string,
    @Query({ schema: apiKeyQuerySchema }) query: ApiKeyQueryFields,
    @Caller() caller: Principal,
    @GrantedScopes() granted: readonly string[] | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ListBody<ListedApiKeyResource>> {
    const account = await this.accounts.get(accountId);
    const { status: statuses, oauth_client: oauthClient, authorized_by: memberId, ...rest } = query;
    const hasOAuthClient = oauthClient === undefined ? undefined : oauthClient === 'true';
    const isPortal = caller.kind === 'portal';
    const authorizedBy = memberId !== undefined && isPortal ? NO_MEMBER_ID : memberId;
    const page = await this.keys.list(account, { ...rest, statuses, hasOAuthClient, authorizedBy, granted });
    const members = isPortal ? NO_MEMBERS : await this.keys.findAuthorizers(page.data);
    return listBody(page, (key) => listedApiKeyResource(key, account.timeZone, members), query, reply);
  }

  @Operation('createApiKey', apiKeyWithSecretSchema)
  async create(
    @Param('id') accountId: string,
    @Body({ schema: createApiKeySchema }) body: CreateApiKey,
    @ChangedBy() context: ChangeContext,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ApiKeyWithSecretResource> {
    const { timeZone } = await this.accounts.get(accountId);
    const { key, secret } = await this.keys.create(accountId, body, context);
    reply.header('Location', `/admin/v1/api-keys/${key.id}`);
    return { ...withETag(apiKeyResource(key, timeZone), reply), secret };
  }
}
