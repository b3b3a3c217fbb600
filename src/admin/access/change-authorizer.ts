/**
 * Authorizes changes with the values of the row before and after. The permission guard creates the authorizer,
 * `ChangedBy` passes the authorizer to the store, and the store calls the authorizer inside its transaction.
 */
import type { FastifyRequest } from 'fastify';
import { widensAccess, type AuthorizeChange, type KeyAccess } from '../../records/access-changes.js';
import type { Problem } from '../../platform/problems/errors.js';
import { checkWithinGrant } from './portal-scopes.js';
import type { Principal } from './principal.js';

const authorizers = new WeakMap<FastifyRequest, AuthorizeChange>();

/**
 * Creates and remembers the authorizer of a request. The authorizer throws `forbidden` for keys outside the grant of a
 * portal session, and `unconfirmed` for changes that widen access.
 * @param unconfirmed null if the caller has confirmed their identity, or does not need to
 */
export function setAuthorizer(request: FastifyRequest, principal: Principal, unconfirmed: Problem | null): void {
  authorizers.set(request, (kind, before, after) => {
    if (kind === 'api_key') {
      for (const access of [before, after])
        if (access !== null) checkWithinGrant(principal, (access as KeyAccess).scopes);
    }
    if (unconfirmed !== null && widensAccess(kind, before, after)) throw unconfirmed;
  });
}

/** Returns the authorizer of a request. Undefined if the permission guard has set none. */
export function authorizerOf(request: FastifyRequest): AuthorizeChange | undefined {
  return authorizers.get(request);
}
