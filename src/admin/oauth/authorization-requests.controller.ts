/**
 * Reads an OAuth authorization request and records the signed-in user's decision. Unknown, expired and decided requests
 * get `resource_not_found`.
 */
import { Body, Controller, Param } from '@nestjs/common';
import type { ChangeContext } from '../../records/audit-log.js';
import { AuthorizationRequests } from '../../authorization/clients/authorization-requests.js';
import { inBody, ResourceOfAccount } from '../access/requested-resource.js';
import { Caller, type Principal } from '../access/principal.js';
import { Operation } from '../openapi/operation-decorator.js';
import { ChangedBy } from '../request/change-context.js';
import {
  approveAuthorizationRequestSchema,
  authorizationDecisionSchema,
  authorizationRequestResource,
  authorizationRequestSchema,
  type ApproveAuthorizationRequest,
  type AuthorizationDecision,
  type AuthorizationRequestResource,
} from './authorization-request.resource.js';

@Controller()
export class AuthorizationRequestsController {
  constructor(private readonly requests: AuthorizationRequests) {}

  @Operation('getAuthorizationRequest', authorizationRequestSchema)
  async get(@Param('id') id: string): Promise<AuthorizationRequestResource> {
    return authorizationRequestResource(await this.requests.get(id), this.requests.longestMs);
  }

  @Operation('denyAuthorizationRequest', authorizationDecisionSchema)
  async deny(@Param('id') id: string): Promise<AuthorizationDecision> {
    return { redirect_url: await this.requests.deny(id) };
  }
}

/**
 * AuthorizationApprovalsController approves requests. It is a separate controller, because only an approval names an
 * account.
 */
@ResourceOfAccount('account', inBody('account_id'))
@Controller()
export class AuthorizationApprovalsController {
  constructor(private readonly requests: AuthorizationRequests) {}

  @Operation('approveAuthorizationRequest', authorizationDecisionSchema)
  async approve(
    @Param('id') id: string,
    @Body({ schema: approveAuthorizationRequestSchema }) body: ApproveAuthorizationRequest,
    @Caller() caller: Principal,
    @ChangedBy() context: ChangeContext,
  ): Promise<AuthorizationDecision> {
    const approval = { accountId: body.account_id, scopes: body.scopes, expiresAt: body.expires_at };
    const memberId = caller.kind === 'member' ? caller.member.id : null;
    return { redirect_url: await this.requests.approve(id, approval, memberId, context) };
  }
}
