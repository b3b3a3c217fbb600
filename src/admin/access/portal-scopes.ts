/**
 * Limits portal sessions to their granted scopes. The field `limitedPortal` of an operation says whether a limited
 * session may call it: `yes`, `no`, or `keys` (only for keys with granted scopes).
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

/** Returns the scopes that a portal session is limited to. Null for sessions without limit and for other callers. */
export function grantedScopes(principal: Principal): readonly string[] | null {
  return principal.kind === 'portal' ? principal.portal.scopes : null;
}

/** Throws `forbidden` if a key has, or would get, a scope that the caller is not granted. */
export function checkWithinGrant(principal: Principal, scopes: readonly string[]): void {
  const granted = grantedScopes(principal);
  const missing = granted === null ? [] : missingScopes(granted, scopes);
  if (missing.length === 0) return;
  throw new Problem('forbidden', {
    detail: `This portal session can only manage keys with these scopes: ${granted?.join(', ')}.`,
    missingScopes: missing,
  });
}

/** PortalScopes enforces the field `limitedPortal` of operations. */
@Injectable()
export class PortalScopes {
  constructor(private readonly keys: ApiKeyStore) {}

  /**
   * Checks that the caller's scopes allow the operation. Remembers the scopes for `GrantedScopes` if the resource is
   * not a key, so that the handler returns only what they allow. Rejects with `forbidden`.
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

/** Injects the scopes that limit what the handler may return. Undefined for no limit. */
export const GrantedScopes = createParamDecorator(
  (_: unknown, context: ExecutionContext): readonly string[] | undefined =>
    scopesByRequest.get(context.switchToHttp().getRequest<FastifyRequest>()),
);
