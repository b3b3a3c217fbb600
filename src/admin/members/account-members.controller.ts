/**
 * Lists the members of an account, changes their roles and removes members. Invitations add new members. An account
 * cannot lose its last owner.
 */
import { Body, Controller, Param, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { AccountStore } from '../../accounts/accounts.js';
import type { ChangeContext } from '../../records/audit-log.js';
import type { ExpectedVersions } from '../../records/versions.js';
import { AccountMembers } from '../../members/account-members.js';
import { updateAccountMemberSchema, type UpdateAccountMember } from '../../members/links/invitation-fields.js';
import { GrantingRoles } from '../access/granting-role.js';
import { Caller, type Principal } from '../access/principal.js';
import { Operation } from '../openapi/operation-decorator.js';
import { ChangedBy } from '../request/change-context.js';
import { withETag } from '../request/etag.js';
import { IfMatch } from '../request/if-match.js';
import { listBody, pageQuerySchema, type ListBody, type PageQuery } from '../request/list.js';
import {
  accountMemberListSchema,
  accountMemberResource,
  accountMemberSchema,
  type AccountMemberResource,
} from './account-member.resource.js';
import {
  memberCredentialsResource,
  memberCredentialsSchema,
  type MemberCredentialsResource,
} from './member-credentials.resource.js';

@Controller()
export class AccountMembersController {
  constructor(
    private readonly accounts: AccountStore,
    private readonly members: AccountMembers,
    private readonly grantingRoles: GrantingRoles,
  ) {}

  @Operation('listAccountMembers', accountMemberListSchema)
  async list(
    @Param('id') accountId: string,
    @Query({ schema: pageQuerySchema }) query: PageQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ListBody<AccountMemberResource>> {
    const { timeZone } = await this.accounts.get(accountId);
    const page = await this.members.list(accountId, query);
    return listBody(page, (member) => accountMemberResource(member, timeZone), query, reply);
  }

  @Operation('updateAccountMember', accountMemberSchema)
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
    const callerAccess = await this.grantingRoles.find(caller, accountId);
    const changed = await this.members.changeRole(accountId, memberId, role, callerAccess, context, expected);
    return withETag(accountMemberResource(changed, timeZone), reply);
  }

  @Operation('getAccountMemberImpact', memberCredentialsSchema)
  async impact(
    @Param('id') accountId: string,
    @Param('member_id') memberId: string,
  ): Promise<MemberCredentialsResource> {
    return memberCredentialsResource(memberId, await this.members.previewRemoval(accountId, memberId));
  }

  @Operation('removeAccountMember', memberCredentialsSchema)
  async remove(
    @Param('id') accountId: string,
    @Param('member_id') memberId: string,
    @IfMatch() expected: ExpectedVersions,
    @Caller() caller: Principal,
    @ChangedBy() context: ChangeContext,
  ): Promise<MemberCredentialsResource> {
    const callerAccess = await this.grantingRoles.find(caller, accountId);
    const removed = await this.members.removeMember(accountId, memberId, callerAccess, context, expected);
    return memberCredentialsResource(memberId, removed);
  }
}
