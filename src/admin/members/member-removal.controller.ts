/** Helping a member in who lost their phone, and forgetting one who asks for it; for operators. */
import { Controller, Delete, HttpCode, Param } from '@nestjs/common';
import type { ChangeContext } from '../../records/audit-log.js';
import { Forgetting } from '../../members/forgetting.js';
import { MemberStore } from '../../members/members.js';
import { SecondFactors } from '../../members/sign-in/second-factors.js';
import { Documented } from '../openapi/documented.js';
import { ChangedBy } from '../request/change-context.js';
import {
  memberCredentialsResource,
  memberCredentialsSchema,
  type MemberCredentialsResource,
} from './member-credentials.resource.js';

@Controller('admin/v1/members/:id')
export class MemberRemovalController {
  constructor(
    private readonly members: MemberStore,
    private readonly factors: SecondFactors,
    private readonly forgetting: Forgetting,
  ) {}

  @Delete('second-factor')
  @HttpCode(204)
  @Documented({
    id: 'removeSecondFactor',
    summary:
      "Remove a member's authenticator app and recovery codes, which they have lost; repeating it changes nothing",
    response: null,
    status: 204,
    problems: ['resource_not_found'],
  })
  async removeSecondFactor(@Param('id') id: string, @ChangedBy() context: ChangeContext): Promise<void> {
    await this.members.get(id);
    await this.factors.remove(id, context);
  }

  @Delete()
  @Documented({
    id: 'forgetMember',
    summary: 'Forget a person for good: name, address and all that signs them in; the audit log keeps the id alone',
    response: memberCredentialsSchema,
    problems: ['resource_not_found', 'last_owner'],
  })
  async forget(@Param('id') id: string, @ChangedBy() context: ChangeContext): Promise<MemberCredentialsResource> {
    return memberCredentialsResource(id, await this.forgetting.forget(id, context));
  }
}
