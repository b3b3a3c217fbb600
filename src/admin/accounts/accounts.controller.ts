/** Accounts: list, create, read, change. There is no way to delete one: its usage and audit log must stay readable. */
import { Body, Controller, Get, Param, Patch, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import {
  createAccountSchema,
  updateAccountSchema,
  type CreateAccount,
  type UpdateAccount,
} from '../../records/account-fields.js';
import { AccountStore } from '../../accounts/accounts.js';
import type { ChangeContext } from '../../records/audit-log.js';
import { Caller, visibleTo, type Principal } from '../access/principal.js';
import { ChangedBy } from '../request/change-context.js';
import { tagged, unlessKnown } from '../request/etag.js';
import { toldAgain } from '../request/idempotency.js';
import { IfMatch } from '../request/if-match.js';
import type { ExpectedVersions } from '../../records/versions.js';
import { listBody, type ListBody } from '../request/list.js';
import { Documented } from '../openapi/documented.js';
import { accountQuerySchema, type AccountQueryFields } from './account-query.js';
import { accountListSchema, accountResource, accountSchema, type AccountResource } from './account.resource.js';

@Controller('admin/v1/accounts')
export class AccountsController {
  constructor(private readonly accounts: AccountStore) {}

  @Get()
  @Documented({ id: 'listAccounts', summary: 'List the accounts that the caller may see', response: accountListSchema })
  async list(
    @Query({ schema: accountQuerySchema }) query: AccountQueryFields,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ListBody<AccountResource>> {
    return listBody(await this.accounts.list(query, visibleTo(caller)), accountResource, query, reply);
  }

  @Post()
  @Documented({ id: 'createAccount', summary: 'Create an account', response: accountSchema, status: 201 })
  async create(
    @Body({ schema: createAccountSchema }) body: CreateAccount,
    @ChangedBy() context: ChangeContext,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<AccountResource> {
    const account = await this.accounts.create(body, toldAgain(context, accountResource));
    reply.header('Location', `/admin/v1/accounts/${account.id}`);
    return tagged(accountResource(account), reply);
  }

  @Get(':id')
  @Documented({
    id: 'getAccount',
    summary: 'Read an account',
    response: accountSchema,
    version: 'shown',
    problems: ['resource_not_found'],
  })
  async get(
    @Param('id') id: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<AccountResource | undefined> {
    return unlessKnown(accountResource(await this.accounts.get(id)), reply);
  }

  @Patch(':id')
  @Documented({
    id: 'updateAccount',
    summary: 'Change an account: its plan, time zone, billing day, status or name',
    response: accountSchema,
    version: 'changed',
    problems: ['resource_not_found'],
  })
  async update(
    @Param('id') id: string,
    @Body({ schema: updateAccountSchema }) body: UpdateAccount,
    @IfMatch() expected: ExpectedVersions,
    @ChangedBy() context: ChangeContext,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<AccountResource> {
    return tagged(accountResource(await this.accounts.update(id, body, context, expected)), reply);
  }
}
