/** Who is signed in: read and change what is theirs. */
import { Body, Controller, Get, Patch } from '@nestjs/common';
import type { ChangeContext } from '../../records/audit-log.js';
import { updateMeSchema, type UpdateMe } from '../../members/member-fields.js';
import { MemberStore } from '../../members/members.js';
import { Caller, memberOfCaller, type Principal } from '../access/principal.js';
import { Documented } from '../openapi/documented.js';
import { ChangedBy } from '../request/change-context.js';
import { MeReader } from './me-reader.js';
import { meSchema, type MeResource } from './me.resource.js';

@Controller('admin/v1/me')
export class MeController {
  constructor(
    private readonly reader: MeReader,
    private readonly members: MemberStore,
  ) {}

  @Get()
  @Documented({ id: 'getMe', summary: 'Say who is signed in, and which accounts are theirs', response: meSchema })
  get(@Caller() caller: Principal): Promise<MeResource> {
    return this.reader.read(caller);
  }

  @Patch()
  @Documented({ id: 'updateMe', summary: 'Change the name or language of who is signed in', response: meSchema })
  async update(
    @Body({ schema: updateMeSchema }) body: UpdateMe,
    @Caller() caller: Principal,
    @ChangedBy() context: ChangeContext,
  ): Promise<MeResource> {
    await this.members.updateOwn(memberOfCaller(caller).member.id, body, context);
    return this.reader.read(caller);
  }
}
