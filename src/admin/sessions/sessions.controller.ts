/** Lists the sessions of the signed-in member, ends a session, and ends all sessions except the current one. */
import { Controller, Param } from '@nestjs/common';
import type { ChangeContext } from '../../records/audit-log.js';
import { Sessions } from '../../members/sessions.js';
import type { ListBody } from '../request/list.js';
import { Caller, memberOfCaller, type Principal } from '../access/principal.js';
import { Operation } from '../openapi/operation-decorator.js';
import { ChangedBy } from '../request/change-context.js';
import { sessionList, sessionListSchema, type SessionResource } from './session.resource.js';

@Controller()
export class MySessionsController {
  constructor(private readonly sessions: Sessions) {}

  @Operation('listMySessions', sessionListSchema)
  async list(@Caller() caller: Principal): Promise<ListBody<SessionResource>> {
    const { member, session } = memberOfCaller(caller);
    return sessionList(await this.sessions.list(member.id), session.id);
  }

  @Operation('endMyOtherSessions')
  async endOthers(@Caller() caller: Principal, @ChangedBy() context: ChangeContext): Promise<void> {
    const { member, session } = memberOfCaller(caller);
    await this.sessions.endAll(member.id, context, session.id);
  }
}

@Controller()
export class SessionsController {
  constructor(private readonly sessions: Sessions) {}

  @Operation('endSession')
  async end(@Param('id') id: string, @Caller() caller: Principal, @ChangedBy() context: ChangeContext): Promise<void> {
    await this.sessions.endOne(memberOfCaller(caller).member.id, id, context);
  }
}
