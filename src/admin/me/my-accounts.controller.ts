/** The accounts of who is signed in, as far as they can be left. */
import { Controller, Delete, HttpCode, Param } from '@nestjs/common';
import type { ChangeContext } from '../../accounts/audit-log.js';
import { AccountMembers } from '../../members/account-members.js';
import type { SessionMember } from '../../members/sessions.js';
import { Documented } from '../openapi/documented.js';
import { ChangedBy } from '../request/change-context.js';
import { Myself } from './signed-in-member.js';

@Controller('admin/v1/me/accounts/:id')
export class MyAccountsController {
  constructor(private readonly members: AccountMembers) {}

  @Delete()
  @HttpCode(204)
  @Documented({
    id: 'leaveAccount',
    summary: 'Leave an account; only an invitation leads back',
    response: null,
    status: 204,
    problems: ['resource_not_found', 'last_owner'],
  })
  async leave(
    @Param('id') accountId: string,
    @Myself() member: SessionMember,
    @ChangedBy() context: ChangeContext,
  ): Promise<void> {
    await this.members.leave(accountId, member.id, context);
  }
}
