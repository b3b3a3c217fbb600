/** The members of the installation, for operators. */
import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { ChangeContext } from '../../records/audit-log.js';
import type { ExpectedVersions } from '../../records/versions.js';
import { MemberAdmin, type CreatedMember, type PasswordLink } from '../../members/member-admin.js';
import {
  createMemberSchema,
  updateMemberSchema,
  type CreateMember,
  type UpdateMember,
} from '../../members/member-fields.js';
import { MemberStore } from '../../members/members.js';
import { Sessions } from '../../members/sessions.js';
import { Site } from '../access/site.js';
import { Documented } from '../openapi/documented.js';
import { ChangedBy } from '../request/change-context.js';
import { tagged, unlessKnown } from '../request/etag.js';
import { toldAgain } from '../request/idempotency.js';
import { IfMatch } from '../request/if-match.js';
import { listBody, pageQuerySchema, type ListBody, type PageQuery } from '../request/list.js';
import { sessionList, sessionListSchema, type SessionResource } from '../sessions/session.resource.js';
import {
  createdMemberSchema,
  memberListSchema,
  memberResource,
  memberSchema,
  passwordLinkResource,
  passwordLinkSchema,
  type CreatedMemberResource,
  type MemberResource,
  type PasswordLinkResource,
} from './member.resource.js';

@Controller('admin/v1/members')
export class MembersController {
  constructor(
    private readonly admin: MemberAdmin,
    private readonly members: MemberStore,
    private readonly sessions: Sessions,
    private readonly site: Site,
  ) {}

  @Get()
  @Documented({ id: 'listMembers', summary: 'List everybody who can sign in', response: memberListSchema })
  async list(
    @Query({ schema: pageQuerySchema }) query: PageQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ListBody<MemberResource>> {
    return listBody(await this.admin.list(query), memberResource, query, reply);
  }

  @Post()
  @Documented({
    id: 'createMember',
    summary: 'Add somebody, an operator or not; the response has the link for their password, once',
    response: createdMemberSchema,
    status: 201,
    problems: ['already_a_member'],
  })
  async create(
    @Body({ schema: createMemberSchema }) body: CreateMember,
    @ChangedBy() context: ChangeContext,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<CreatedMemberResource> {
    const { member, link } = await this.admin.create(body, toldAgain(context, this.createdResource));
    reply.header('Location', `/admin/v1/members/${member.id}`);
    return tagged(this.createdResource({ member, link }), reply);
  }

  @Get(':id')
  @Documented({
    id: 'getMember',
    summary: 'Read a member',
    response: memberSchema,
    version: 'shown',
    problems: ['resource_not_found'],
  })
  async get(
    @Param('id') id: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<MemberResource | undefined> {
    return unlessKnown(memberResource(await this.members.get(id)), reply);
  }

  @Patch(':id')
  @Documented({
    id: 'updateMember',
    summary: 'Change a member: name, whether they are an operator, whether they can sign in',
    response: memberSchema,
    version: 'changed',
    problems: ['resource_not_found'],
  })
  async update(
    @Param('id') id: string,
    @Body({ schema: updateMemberSchema }) body: UpdateMember,
    @IfMatch() expected: ExpectedVersions,
    @ChangedBy() context: ChangeContext,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<MemberResource> {
    return tagged(memberResource(await this.admin.update(id, body, context, expected)), reply);
  }

  @Post(':id/password-reset-links')
  @Documented({
    id: 'createPasswordResetLink',
    summary: 'Make a link by which a member chooses a new password; the ones before end',
    response: passwordLinkSchema,
    status: 201,
    problems: ['resource_not_found'],
  })
  async resetLink(@Param('id') id: string, @ChangedBy() context: ChangeContext): Promise<PasswordLinkResource> {
    const shown = (link: PasswordLink): PasswordLinkResource => passwordLinkResource(link, this.site);
    return shown(await this.admin.resetLink(id, toldAgain(context, shown)));
  }

  private readonly createdResource = ({ member, link }: CreatedMember): CreatedMemberResource => ({
    ...memberResource(member),
    password_link: passwordLinkResource(link, this.site),
  });

  @Get(':id/sessions')
  @Documented({
    id: 'listMemberSessions',
    summary: 'List where a member is signed in',
    response: sessionListSchema,
    problems: ['resource_not_found'],
  })
  async listSessions(@Param('id') id: string): Promise<ListBody<SessionResource>> {
    await this.members.get(id);
    return sessionList(await this.sessions.list(id), null);
  }

  @Delete(':id/sessions')
  @HttpCode(204)
  @Documented({
    id: 'endMemberSessions',
    summary: 'Sign a member out everywhere',
    response: null,
    status: 204,
    problems: ['resource_not_found'],
  })
  async endSessions(@Param('id') id: string, @ChangedBy() context: ChangeContext): Promise<void> {
    await this.members.get(id);
    await this.sessions.endAll(id, context);
  }
}
