/** Resends and revokes invitations, for owners and admins of the account. */
import { Controller, Param } from '@nestjs/common';
import { AccountStore } from '../../accounts/accounts.js';
import type { ChangeContext } from '../../records/audit-log.js';
import { AccountAccess } from '../../members/account-access.js';
import { Invitations, type MadeInvitation } from '../../members/links/invitations.js';
import type { CallerAccess } from '../../members/permissions.js';
import { GrantingRoles } from '../access/granting-role.js';
import { inPath, ResourceOfAccount } from '../access/requested-resource.js';
import { Caller, type Principal } from '../access/principal.js';
import { Site } from '../access/site.js';
import { Operation } from '../openapi/operation-decorator.js';
import { ChangedBy } from '../request/change-context.js';
import { storeResponseBody } from '../request/idempotency.js';
import {
  invitationResource,
  invitationSchema,
  invitationWithLinkSchema,
  madeInvitationResource,
  type InvitationResource,
  type InvitationWithLinkResource,
} from './invitation.resource.js';

@Controller()
@ResourceOfAccount('link', inPath)
export class InvitationsController {
  constructor(
    private readonly accounts: AccountStore,
    private readonly invitations: Invitations,
    private readonly access: AccountAccess,
    private readonly grantingRoles: GrantingRoles,
    private readonly site: Site,
  ) {}

  @Operation('resendInvitation', invitationWithLinkSchema)
  async resend(
    @Param('id') id: string,
    @Caller() caller: Principal,
    @ChangedBy() context: ChangeContext,
  ): Promise<InvitationWithLinkResource> {
    const account = await this.access.find({ kind: 'link', id }, null);
    const { timeZone } = await this.accounts.get(account?.id ?? '');
    const toBody = (made: MadeInvitation) => madeInvitationResource(made, timeZone, this.site);
    return toBody(await this.invitations.resend(id, await this.roleOf(caller, id), storeResponseBody(context, toBody)));
  }

  @Operation('revokeInvitation', invitationSchema)
  async revoke(
    @Param('id') id: string,
    @Caller() caller: Principal,
    @ChangedBy() context: ChangeContext,
  ): Promise<InvitationResource> {
    const invitation = await this.invitations.revoke(id, await this.roleOf(caller, id), context);
    const { timeZone } = await this.accounts.get(invitation.accountId);
    return invitationResource(invitation, timeZone);
  }

  /**
   * Returns the caller's role in the account of an invitation. Rejects with `resource_not_found` if the caller has no
   * role in the account.
   */
  private async roleOf(caller: Principal, id: string): Promise<CallerAccess> {
    const account = await this.access.find({ kind: 'link', id }, null);
    return this.grantingRoles.find(caller, account?.id ?? '');
  }
}
