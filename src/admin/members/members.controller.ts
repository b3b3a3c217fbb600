/** Manages the members of the installation and their sessions, for operators. */
import { Body, Controller, Param, Query, Res } from '@nestjs/common';
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
import { Operation } from '../openapi/operation-decorator.js';
import { ChangedBy } from '../request/change-context.js';
import { withETag, unlessNotModified } from '../request/etag.js';
import { storeResponseBody } from '../request/idempotency.js';
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

@Controller()
export class MembersController {
  constructor(
    private readonly admin: MemberAdmin,
    private readonly members: MemberStore,
    private readonly sessions: Sessions,
    private readonly site: Site,
  ) {}

  @Operation('listMembers', memberListSchema)
  async list(
    @Query({ schema: pageQuerySchema }) query: PageQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ListBody<MemberResource>> {
    return listBody(await this.admin.list(query), memberResource, query, reply);
  }

  @Operation('createMember', createdMemberSchema)
  async create(
    @Body({ schema: createMemberSchema }) body: CreateMember,
    @ChangedBy() context: ChangeContext,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<CreatedMemberResource> {
    const { member, link } = await this.admin.create(body, storeResponseBody(context, this.createdResource));
    reply.header('Location', `/admin/v1/members/${member.id}`);
    return withETag(this.createdResource({ member, link }), reply);
  }

  @Operation('getMember', memberSchema)
  async get(
    @Param('id') id: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<MemberResource | undefined> {
    return unlessNotModified(memberResource(await this.members.get(id)), reply);
  }

  @Operation('updateMember', memberSchema)
  async update(
    @Param('id') id: string,
    @Body({ schema: updateMemberSchema }) body: UpdateMember,
    @IfMatch() expected: ExpectedVersions,
    @ChangedBy() context: ChangeContext,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<MemberResource> {
    return withETag(memberResource(await this.admin.update(id, body, context, expected)), reply);
  }

  @Operation('createPasswordResetLink', passwordLinkSchema)
  async resetLink(@Param('id') id: string, @ChangedBy() context: ChangeContext): Promise<PasswordLinkResource> {
    const toBody = (link: PasswordLink): PasswordLinkResource => passwordLinkResource(link, this.site);
    return toBody(await this.admin.resetLink(id, storeResponseBody(context, toBody)));
  }

  private readonly createdResource = ({ member, link }: CreatedMember): CreatedMemberResource => ({
    ...memberResource(member),
    password_link: passwordLinkResource(link, this.site),
  });

  @Operation('listMemberSessions', sessionListSchema)
  async listSessions(@Param('id') id: string): Promise<ListBody<SessionResource>> {
    await this.members.get(id);
    return sessionList(await this.sessions.list(id), null);
  }

  @Operation('endMemberSessions')
  async endSessions(@Param('id') id: string, @ChangedBy() context: ChangeContext): Promise<void> {
    await this.members.get(id);
    await this.sessions.endAll(id, context);
  }
}
