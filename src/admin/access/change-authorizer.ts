/**
 * Decides on the row that a change is applied to whether its caller may make it. The permission guard prepares the
 * decision, `ChangedBy` hands it to the store, and the store asks it in its transaction.
 */
import type { FastifyRequest } from 'fastify';
import { widensAccess, type AuthorizeChange, type KeyAccess } from '../../accounts/access-changes.js';
import { missingScopes } from '../../keys/scopes.js';
import { Problem } from '../../problems/errors.js';
import type { Principal } from './principal.js';

const authorizers = new WeakMap<FastifyRequest, AuthorizeChange>();

/** @param unconfirmed what a change that widens access is refused with; null: it is not. */
export function setAuthorizer(request: FastifyRequest, principal: Principal, unconfirmed: Problem | null): void {
  authorizers.set(request, (kind, before, after) => {
    if (kind === 'api_key') {
      for (const access of [before, after]) if (access !== null) checkScopes(principal, (access as KeyAccess).scopes);
    }
    if (unconfirmed !== null && widensAccess(kind, before, after)) throw unconfirmed;
  });
}

/** Returns the decision for the changes of a request; undefined where the guard has made none. */
export function authorizerOf(request: FastifyRequest): AuthorizeChange | undefined {
  return authorizers.get(request);
}

/** Throws `forbidden` where a key has, or would have, a scope that the caller's portal session lacks. */
function checkScopes(principal: Principal, scopes: readonly string[]): void {
  const granted = principal.kind === 'portal' ? principal.portal.scopes : null;
  if (granted === null) return;
  const missing = missingScopes(granted, scopes);
  if (missing.length === 0) return;
  throw new Problem('forbidden', {
    detail: `From here, keys have no other scopes than ${granted.join(', ')}.`,
    missingScopes: missing,
  });
}
