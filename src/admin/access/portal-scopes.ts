/**
 * Limits portal sessions to the scopes that their portal link grants. The field `limitedPortal` of a permission says
 * whether a limited session can call the operation. With `keys`, the session can access only keys within the granted
 * scopes, and gets 403 for other keys.
 */
import { createParamDecorator, Injectable, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { ApiKeyStore } from '../../accounts/api-key-store.js';
import { missingScopes } from '../../keys/scopes.js';
import type { Named } from '../../members/account-access.js';
import type { Permission } from '../../members/permissions.js';
import { Problem } from '../../platform/problems/errors.js';
import type { Principal } from './principal.js';

const scopesByRequest = new WeakMap<FastifyRequest, readonly string[]>();

/**
 * Returns the scopes that a portal session is limited to. Null for portal sessions without a limit, and for other
 * callers.
 */
export function grantedScopes(principal: Principal): readonly string[] | null {
  return principal.kind === 'portal' ? principal.portal.scopes : null;
}

/**
 * Throws `forbidden` if the portal session is not granted all of `scopes`, the current or new scopes of a key. Does
 * nothing for other callers.
 */
export function checkWithinGrant(principal: Principal, scopes: readonly string[]): void {
  const granted = grantedScopes(principal);
  const missing = granted === null ? [] : missingScopes(granted, scopes);
  if (missing.length === 0) return;
  throw new Problem('forbidden', {
    detail: `This portal session can only manage keys with these scopes: ${granted?.join(', ')}.`,
    missingScopes: missing,
  });
}

/** PortalScopes enforces the field `limitedPortal` of permissions. */
@Injectable()
export class PortalScopes {
  constructor(private readonly keys: ApiKeyStore) {}

  /**
   * Checks that a limited portal session can call the operation. Rejects with `forbidden` if the operation excludes
   * limited sessions, or if the key has a scope outside the grant. For a resource other than a key, provides the
   * granted scopes to the handler with `GrantedScopes`.
   * @param named the resource of the request, in an account that the caller can access
   */
  async check(request: FastifyRequest, principal: Principal, permission: Permission, named: Named): Promise<void> {
    const granted = grantedScopes(principal);
    if (granted === null || permission.limitedPortal === 'yes') return;
    if (permission.limitedPortal === 'no') {
      throw new Problem('forbidden', { detail: 'A portal session with limited scopes cannot do this.' });
    }
    if (named.kind === 'api_key') checkWithinGrant(principal, (await this.keys.get(named.id)).scopes);
    else scopesByRequest.set(request, granted);
  }
}

/**
 * Injects the granted scopes of a limited portal session. The handler must return only data of keys within these
 * scopes. Undefined if there is no limit.
 */
export const GrantedScopes = createParamDecorator(
  (_: unknown, context: ExecutionContext): readonly string[] | undefined =>
    scopesByRequest.get(context.switchToHttp().getRequest<FastifyRequest>()),
);
