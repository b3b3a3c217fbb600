/** Lets the signed-in member leave an account. Rejects with `last_owner` if the account would lose its last owner. */
import { Controller, Param } from '@nestjs/common';
import type { ChangeContext } from '../../records/audit-log.js';
import { AccountMembers } from '../../members/account-members.js';
import type { SessionMember } from '../../members/sessions.js';
import {
  memberCredentialsResource,
  memberCredentialsSchema,
  type MemberCredentialsResource,
} from '../members/member-credentials.resource.js';
import { Operation } from '../openapi/operation-decorator.js';
import { ChangedBy } from '../request/change-context.js';
import { Myself } from './signed-in-member.js';

@Controller()
export class MyAccountsController {
  constructor(private readonly members: AccountMembers) {}

  @Operation('leaveAccount', memberCredentialsSchema)
  async leave(
    @Param('id') accountId: string,
    @Myself() member: SessionMember,
    @ChangedBy() context: ChangeContext,
  ): Promise<MemberCredentialsResource> {
    return memberCredentialsResource(member.id, await this.members.leaveAccount(accountId, member.id, context));
  }
}
