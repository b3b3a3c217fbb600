/** Lists and creates the invitations of an account, for its owners and admins. */
import { Body, Controller, Param, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { AccountStore } from '../../accounts/accounts.js';
import type { ChangeContext } from '../../records/audit-log.js';
import { createInvitationSchema, type CreateInvitation } from '../../members/links/invitation-fields.js';
import { Invitations, type MadeInvitation } from '../../members/links/invitations.js';
import { GrantingRoles } from '../access/granting-role.js';
import { Caller, type Principal } from '../access/principal.js';
import { Site } from '../access/site.js';
import { Operation } from '../openapi/operation-decorator.js';
import { ChangedBy } from '../request/change-context.js';
import { storeResponseBody } from '../request/idempotency.js';
import { listBody, pageQuerySchema, type ListBody, type PageQuery } from '../request/list.js';
import {
  invitationListSchema,
  invitationResource,
  invitationWithLinkSchema,
  madeInvitationResource,
  type InvitationResource,
  type InvitationWithLinkResource,
} from './invitation.resource.js';

@Controller()
export class AccountInvitationsController {
  constructor(
    private readonly accounts: AccountStore,
    private readonly invitations: Invitations,
    private readonly grantingRoles: GrantingRoles,
    private readonly site: Site,
  ) {}

  @Operation('listInvitations', invitationListSchema)
  async list(
    @Param('id') accountId: string,
    @Query({ schema: pageQuerySchema }) query: PageQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ListBody<InvitationResource>> {
    const { timeZone } = await this.accounts.get(accountId);
    const page = await this.invitations.list(accountId, query);
    return listBody(page, (invitation) => invitationResource(invitation, timeZone), query, reply);
  }

  @Operation('createInvitation', invitationWithLinkSchema)
  async create(
    @Param('id') accountId: string,
    @Body({ schema: createInvitationSchema }) body: CreateInvitation,
    @Caller() caller: Principal,
    @ChangedBy() context: ChangeContext,
  ): Promise<InvitationWithLinkResource> {
    const { timeZone } = await this.accounts.get(accountId);
    const callerRole = await this.grantingRoles.find(caller, accountId);
    const toBody = (made: MadeInvitation) => madeInvitationResource(made, timeZone, this.site);
    return toBody(await this.invitations.create(accountId, body, callerRole, storeResponseBody(context, toBody)));
  }
}
