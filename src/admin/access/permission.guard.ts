/**
 * Enforces the permission of each operation (`operations.ts`). Responds with 404 to a resource of another account, as
 * if the resource did not exist. Responds with 403 if the caller lacks the role or a recent confirmation, or changes a
 * suspended account.
 */
import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { AccountAccess, type NamedAccount } from '../../members/account-access.js';
import { needsNoSignIn, type Permission, type Role } from '../../members/permissions.js';
import { Problem } from '../../platform/problems/errors.js';
import { setAuthorizer } from './change-authorizer.js';
import { RecentConfirmation } from './recent-confirmation.js';
import { requestedResourceOf } from './requested-resource.js';
import { isRead } from '../openapi/operations.js';
import { operationOf } from '../openapi/operation-decorator.js';
import { PortalScopes } from './portal-scopes.js';
import { isOperator, principalOf, type Principal } from './principal.js';
import { isPublic } from './public.js';

@Injectable()
export class PermissionGuard implements CanActivate {
  constructor(
    private readonly access: AccountAccess,
    private readonly confirmed: RecentConfirmation,
    private readonly portalScopes: PortalScopes,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    if (isPublic(context)) return true;
    const operation = operationOf(context);
    const { permission } = operation;
    if (needsNoSignIn(permission)) return true;
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const principal = principalOf(request);
    if (permission.about === 'oneself') checkCallerKind(principal, permission);
    else if (isOperator(principal)) checkCallerKind(principal, permission);
    else {
      if (permission.about === 'installation') throw forbidden('Only operators can do this.', ['operator']);
      await this.checkAccount(context, principal, permission, isRead(operation));
    }
    if (isRead(operation) && permission.confirm === 'never') return true;
    const unconfirmed = await this.confirmed.refusal(principal);
    if (permission.confirm === 'always' && unconfirmed !== null) throw unconfirmed;
    setAuthorizer(request, principal, unconfirmed);
    return true;
  }

  private async checkAccount(
    context: ExecutionContext,
    principal: Principal,
    permission: Permission,
    isReadOnly: boolean,
  ): Promise<void> {
    const named = requestedResourceOf(context);
    const memberId = principal.kind === 'member' ? principal.member.id : null;
    const account = named && (await this.access.find(named, memberId));
    const role = account && roleIn(account, principal);
    if (named === undefined || account === undefined || role === undefined) {
      throw new Problem('resource_not_found', {
        detail: 'Not found. The id does not exist or belongs to another account.',
      });
    }
    checkCallerKind(principal, permission);
    if (!permission.roles.includes(role)) {
      throw forbidden(`The role ${role} of this account does not allow this.`, permission.roles);
    }
    await this.portalScopes.check(context.switchToHttp().getRequest(), principal, permission, named);
    if (account.isSuspended && !isReadOnly) {
      throw new Problem('account_suspended', { detail: 'The account is suspended: only operators may change it.' });
    }
  }
}

/** Returns the caller's role in an account. Undefined if the caller cannot access the account. */
function roleIn(account: NamedAccount, principal: Principal): Role | undefined {
  switch (principal.kind) {
    case 'member':
      return account.role ?? undefined;
    case 'portal':
      return principal.portal.accountId === account.id ? principal.portal.role : undefined;
    case 'token':
      return principal.token.accountId === account.id ? principal.token.role : undefined;
    default:
      return undefined;
  }
}

/** Throws `forbidden` for a token or portal session that the operation excludes. */
function checkCallerKind(principal: Principal, permission: Permission): void {
  const { tokens } = permission;
  if ((principal.kind === 'operator' && tokens === 'none') || (principal.kind === 'token' && tokens !== 'any')) {
    throw forbidden('Tokens cannot do this. Sign in as a member.');
  }
  if (principal.kind === 'portal' && !permission.portal) {
    throw forbidden('Portal sessions cannot do this. Sign in as a member.');
  }
}

function forbidden(detail: string, requiredRoles?: readonly string[]): Problem {
  return new Problem('forbidden', { detail, ...(requiredRoles === undefined ? {} : { requiredRoles }) });
}
