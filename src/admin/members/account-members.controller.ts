/** The members of an account: list, give another role, remove. New ones come by invitation. */
import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { AccountStore } from '../../accounts/accounts.js';
import type { ChangeContext } from '../../accounts/audit-log.js';
import type { ExpectedVersions } from '../../accounts/versions.js';
import { AccountMembers } from '../../members/account-members.js';
import { updateAccountMemberSchema, type UpdateAccountMember } from '../../members/links/invitation-fields.js';
import { Givers } from '../access/giver.js';
import { Caller, type Principal } from '../access/principal.js';
import { Documented } from '../openapi/documented.js';
import { ChangedBy } from '../request/change-context.js';
import { tagged } from '../request/etag.js';
import { IfMatch } from '../request/if-match.js';
import { listBody, pageQuerySchema, type ListBody, type PageQuery } from '../request/list.js';
import {
  accountMemberListSchema,
  accountMemberResource,
  accountMemberSchema,
  type AccountMemberResource,
} from './account-member.resource.js';

@Controller('admin/v1/accounts/:id/members')
export class AccountMembersController {
  constructor(
    private readonly accounts: AccountStore,
    private readonly members: AccountMembers,
    private readonly givers: Givers,
  ) {}

  @Get()
  @Documented({
    id: 'listAccountMembers',
    summary: 'List the members of an account',
    response: accountMemberListSchema,
    problems: ['resource_not_found'],
  })
  async list(
    @Param('id') accountId: string,
    @Query({ schema: pageQuerySchema }) query: PageQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ListBody<AccountMemberResource>> {
    const { timeZone } = await this.accounts.get(accountId);
    const page = await this.members.list(accountId, query);
    return listBody(page, (member) => accountMemberResource(member, timeZone), query, reply);
  }

  @Patch(':member_id')
  @Documented({
    id: 'updateAccountMember',
    summary: 'Give a member of an account another role; it counts with their next request',
    response: accountMemberSchema,
    version: 'changed',
    problems: ['resource_not_found', 'last_owner'],
  })
  async update(
    @Param('id') accountId: string,
    @Param('member_id') memberId: string,
    @Body({ schema: updateAccountMemberSchema }) { role }: UpdateAccountMember,
    @IfMatch() expected: ExpectedVersions,
    @Caller() caller: Principal,
    @ChangedBy() context: ChangeContext,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<AccountMemberResource> {
    const { timeZone } = await this.accounts.get(accountId);
    const giver = await this.givers.of(caller, accountId);
    const changed = await this.members.change(accountId, memberId, role, giver, context, expected);
    return tagged(accountMemberResource(changed, timeZone), reply);
  }

  @Delete(':member_id')
  @HttpCode(204)
  @Documented({
    id: 'removeAccountMember',
    summary: 'Take a member out of an account',
    response: null,
    status: 204,
    version: 'changed',
    problems: ['resource_not_found', 'last_owner'],
  })
  async remove(
    @Param('id') accountId: string,
    @Param('member_id') memberId: string,
    @IfMatch() expected: ExpectedVersions,
    @Caller() caller: Principal,
    @ChangedBy() context: ChangeContext,
  ): Promise<void> {
    await this.members.remove(accountId, memberId, await this.givers.of(caller, accountId), context, expected);
  }
}
