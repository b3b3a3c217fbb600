/**
 * Lists, creates, reads, changes and deletes accounts. Only operators can create, change or delete an account. Other
 * callers see only the accounts that they can access.
 */
import { Body, Controller, Param, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import {
  createAccountSchema,
  deleteAccountSchema,
  updateAccountSchema,
  type CreateAccount,
  type DeleteAccount,
  type UpdateAccount,
} from '../../records/account-fields.js';
import { AccountStore } from '../../accounts/accounts.js';
import { AccountDeletion } from '../../members/account-deletion.js';
import type { ChangeContext } from '../../records/audit-log.js';
import { Caller, visibleTo, type Principal } from '../access/principal.js';
import { ChangedBy } from '../request/change-context.js';
import { withETag, unlessNotModified } from '../request/etag.js';
import { storeResponseBody } from '../request/idempotency.js';
import { IfMatch } from '../request/if-match.js';
import type { ExpectedVersions } from '../../records/versions.js';
import { listBody, type ListBody } from '../request/list.js';
import { Operation } from '../openapi/operation-decorator.js';
import { accountQuerySchema, type AccountQueryFields } from './account-query.js';
import { accountListSchema, accountResource, accountSchema, type AccountResource } from './account.resource.js';

@Controller()
export class AccountsController {
  constructor(
    private readonly accounts: AccountStore,
    private readonly deletion: AccountDeletion,
  ) {}

  @Operation('listAccounts', accountListSchema)
  async list(
    @Query({ schema: accountQuerySchema }) query: AccountQueryFields,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ListBody<AccountResource>> {
    return listBody(await this.accounts.list(query, visibleTo(caller)), accountResource, query, reply);
  }

  @Operation('createAccount', accountSchema)
  async create(
    @Body({ schema: createAccountSchema }) body: CreateAccount,
    @ChangedBy() context: ChangeContext,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<AccountResource> {
    const account = await this.accounts.create(body, storeResponseBody(context, accountResource));
    reply.header('Location', `/admin/v1/accounts/${account.id}`);
    return withETag(accountResource(account), reply);
  }

  @Operation('getAccount', accountSchema)
  async get(
    @Param('id') id: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<AccountResource | undefined> {
    return unlessNotModified(accountResource(await this.accounts.get(id)), reply);
  }

  @Operation('updateAccount', accountSchema)
  async update(
    @Param('id') id: string,
    @Body({ schema: updateAccountSchema }) body: UpdateAccount,
    @IfMatch() expected: ExpectedVersions,
    @ChangedBy() context: ChangeContext,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<AccountResource> {
    return withETag(accountResource(await this.accounts.update(id, body, context, expected)), reply);
  }

  @Operation('deleteAccount')
  async delete(
    @Param('id') id: string,
    @Body({ schema: deleteAccountSchema }) { name }: DeleteAccount,
    @ChangedBy() context: ChangeContext,
  ): Promise<void> {
    await this.deletion.delete(id, name, context);
  }
}
