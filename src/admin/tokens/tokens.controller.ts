/**
 * Lists, creates and revokes account tokens, with which programs call the admin API. For owners and admins of the
 * account.
 */
import { Body, Controller, Param, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { AccountStore } from '../../accounts/accounts.js';
import type { ChangeContext } from '../../records/audit-log.js';
import { createAccountTokenSchema, type CreateAccountToken } from '../../members/account-token-fields.js';
import { AccountTokens } from '../../members/account-tokens.js';
import { Operation } from '../openapi/operation-decorator.js';
import { ChangedBy } from '../request/change-context.js';
import { listBody, pageQuerySchema, type ListBody, type PageQuery } from '../request/list.js';
import {
  accountTokenListSchema,
  accountTokenResource,
  accountTokenSchema,
  accountTokenWithSecretSchema,
  type AccountTokenResource,
  type AccountTokenWithSecretResource,
} from './token.resource.js';

@Controller()
export class TokensController {
  constructor(
    private readonly accounts: AccountStore,
    private readonly tokens: AccountTokens,
  ) {}

  @Operation('listAccountTokens', accountTokenListSchema)
  async list(
    @Param('id') accountId: string,
    @Query({ schema: pageQuerySchema }) query: PageQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ListBody<AccountTokenResource>> {
    const { timeZone } = await this.accounts.get(accountId);
    const page = await this.tokens.list(accountId, query);
    const names = await this.tokens.creatorNames(page.data);
    return listBody(page, (token) => accountTokenResource(token, timeZone, names), query, reply);
  }

  @Operation('createAccountToken', accountTokenWithSecretSchema)
  async create(
    @Param('id') accountId: string,
    @Body({ schema: createAccountTokenSchema }) body: CreateAccountToken,
    @ChangedBy() context: ChangeContext,
  ): Promise<AccountTokenWithSecretResource> {
    const { timeZone } = await this.accounts.get(accountId);
    const { token, secret } = await this.tokens.create(accountId, body, context);
    return { ...accountTokenResource(token, timeZone, await this.tokens.creatorNames([token])), secret };
  }

  @Operation('revokeAccountToken', accountTokenSchema)
  async revoke(
    @Param('id') accountId: string,
    @Param('token_id') tokenId: string,
    @ChangedBy() context: ChangeContext,
  ): Promise<AccountTokenResource> {
    const { timeZone } = await this.accounts.get(accountId);
    const token = await this.tokens.revoke(accountId, tokenId, context);
    return accountTokenResource(token, timeZone, await this.tokens.creatorNames([token]));
  }
}
