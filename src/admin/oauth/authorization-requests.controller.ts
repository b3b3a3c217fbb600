/** Requests of OAuth clients to be let in: somebody who is signed in reads one, and says yes or no. */
import { Body, Controller, Get, HttpCode, Param, Post } from '@nestjs/common';
import type { ChangeContext } from '../../records/audit-log.js';
import { AuthorizationRequests } from '../../authorization/clients/authorization-requests.js';
import { inBody, OfAccount } from '../access/of-account.js';
import { Caller, type Principal } from '../access/principal.js';
import { Documented } from '../openapi/documented.js';
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

@Controller('admin/v1/authorization-requests/:id')
export class AuthorizationRequestsController {
  constructor(private readonly requests: AuthorizationRequests) {}

  @Get()
  @Documented({
    id: 'getAuthorizationRequest',
    summary: 'Read what an OAuth client asks for',
    response: authorizationRequestSchema,
    problems: ['resource_not_found'],
  })
  async get(@Param('id') id: string): Promise<AuthorizationRequestResource> {
    return authorizationRequestResource(await this.requests.get(id), this.requests.longestMs);
  }

  @Post('denial')
  @HttpCode(200)
  @Documented({
    id: 'denyAuthorizationRequest',
    summary: 'Turn an OAuth client away',
    response: authorizationDecisionSchema,
    problems: ['resource_not_found'],
  })
  async deny(@Param('id') id: string): Promise<AuthorizationDecision> {
    return { redirect_url: await this.requests.deny(id) };
  }
}

@OfAccount('account', inBody('account_id'))
@Controller('admin/v1/authorization-requests/:id/approval')
export class AuthorizationApprovalsController {
  constructor(private readonly requests: AuthorizationRequests) {}

  @Post()
  @HttpCode(200)
  @Documented({
    id: 'approveAuthorizationRequest',
    summary: 'Let an OAuth client in: it gets a key of the account, which can be revoked as any other',
    response: authorizationDecisionSchema,
    problems: ['resource_not_found'],
  })
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
