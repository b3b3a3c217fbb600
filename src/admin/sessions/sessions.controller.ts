/** The sessions of who is signed in: look at them, end one, end all others. */
import { Controller, Delete, Get, HttpCode, Param } from '@nestjs/common';
import type { ChangeContext } from '../../records/audit-log.js';
import { Sessions } from '../../members/sessions.js';
import type { ListBody } from '../request/list.js';
import { Caller, memberOfCaller, type Principal } from '../access/principal.js';
import { Documented } from '../openapi/documented.js';
import { ChangedBy } from '../request/change-context.js';
import { sessionList, sessionListSchema, type SessionResource } from './session.resource.js';

@Controller('admin/v1/me/sessions')
export class MySessionsController {
  constructor(private readonly sessions: Sessions) {}

  @Get()
  @Documented({
    id: 'listMySessions',
    summary: 'List where the caller is signed in, the session last seen first',
    response: sessionListSchema,
  })
  async list(@Caller() caller: Principal): Promise<ListBody<SessionResource>> {
    const { member, session } = memberOfCaller(caller);
    return sessionList(await this.sessions.list(member.id), session.id);
  }

  @Delete()
  @HttpCode(204)
  @Documented({
    id: 'endMyOtherSessions',
    summary: 'End all sessions of the caller but this one',
    response: null,
    status: 204,
  })
  async endOthers(@Caller() caller: Principal, @ChangedBy() context: ChangeContext): Promise<void> {
    const { member, session } = memberOfCaller(caller);
    await this.sessions.endAll(member.id, context, session.id);
  }
}

@Controller('admin/v1/sessions/:id')
export class SessionsController {
  constructor(private readonly sessions: Sessions) {}

  @Delete()
  @HttpCode(204)
  @Documented({
    id: 'endSession',
    summary: 'End a session of the caller; it is over with its next request, on every node',
    response: null,
    status: 204,
    problems: ['resource_not_found'],
  })
  async end(@Param('id') id: string, @Caller() caller: Principal, @ChangedBy() context: ChangeContext): Promise<void> {
    await this.sessions.endOne(memberOfCaller(caller).member.id, id, context);
  }
}
