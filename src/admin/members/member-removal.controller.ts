/**
 * Removes the second factor of a member who lost their phone, and erases members on request. Only operators can call
 * these operations. The last owner of an account cannot be erased.
 */
import { Controller, Param } from '@nestjs/common';
import type { ChangeContext } from '../../records/audit-log.js';
import { MemberErasure } from '../../members/member-erasure.js';
import { MemberStore } from '../../members/members.js';
import { SecondFactors } from '../../members/sign-in/second-factors.js';
import { Operation } from '../openapi/operation-decorator.js';
import { ChangedBy } from '../request/change-context.js';
import {
  memberCredentialsResource,
  memberCredentialsSchema,
  type MemberCredentialsResource,
} from './member-credentials.resource.js';

@Controller()
export class MemberRemovalController {
  constructor(
    private readonly members: MemberStore,
    private readonly factors: SecondFactors,
    private readonly erasure: MemberErasure,
  ) {}

  @Operation('removeSecondFactor')
  async removeSecondFactor(@Param('id') id: string, @ChangedBy() context: ChangeContext): Promise<void> {
    await this.members.get(id);
    await this.factors.removeApp(id, context);
  }

  @Operation('forgetMember', memberCredentialsSchema)
  async forget(@Param('id') id: string, @ChangedBy() context: ChangeContext): Promise<MemberCredentialsResource> {
    return memberCredentialsResource(id, await this.erasure.eraseMember(id, context));
  }
}
