/**
 * Returns the caller with their accounts, for every authenticated caller. Changes the profile of the signed-in member.
 */
import { Body, Controller } from '@nestjs/common';
import type { ChangeContext } from '../../records/audit-log.js';
import { updateMeSchema, type UpdateMe } from '../../members/member-fields.js';
import { MemberStore } from '../../members/members.js';
import { Caller, memberOfCaller, type Principal } from '../access/principal.js';
import { Operation } from '../openapi/operation-decorator.js';
import { ChangedBy } from '../request/change-context.js';
import { MeReader } from './me-reader.js';
import { meSchema, type MeResource } from './me.resource.js';

@Controller()
export class MeController {
  constructor(
    private readonly reader: MeReader,
    private readonly members: MemberStore,
  ) {}

  @Operation('getMe', meSchema)
  get(@Caller() caller: Principal): Promise<MeResource> {
    return this.reader.read(caller);
  }

  @Operation('updateMe', meSchema)
  async update(
    @Body({ schema: updateMeSchema }) body: UpdateMe,
    @Caller() caller: Principal,
    @ChangedBy() context: ChangeContext,
  ): Promise<MeResource> {
    await this.members.updateOwn(memberOfCaller(caller).member.id, body, context);
    return this.reader.read(caller);
  }
}
