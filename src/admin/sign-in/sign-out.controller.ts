/**
 * Ends the session of the browser and deletes its cookie. If the database is unavailable, the request fails and the
 * browser keeps the cookie, because the session is still valid.
 */
import { Controller, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { ChangeContext } from '../../records/audit-log.js';
import { Sessions } from '../../members/sessions.js';
import { Caller, type Principal } from '../access/principal.js';
import { Site } from '../access/site.js';
import { Operation } from '../openapi/operation-decorator.js';
import { ChangedBy } from '../request/change-context.js';

@Controller()
export class SignOutController {
  constructor(
    private readonly sessions: Sessions,
    private readonly site: Site,
  ) {}

  @Operation('signOut')
  async signOut(
    @Caller() caller: Principal,
    @ChangedBy() context: ChangeContext,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<void> {
    if ('cookie' in caller) await this.sessions.signOut(caller.cookie, context);
    reply.header('Set-Cookie', this.site.noCookie('session'));
  }
}
