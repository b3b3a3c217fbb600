/**
 * Authorizes changes by the old and new values of the changed row. The permission guard sets the authorizer of each
 * request, and `ChangedBy` passes the authorizer to the store. The store calls the authorizer in the transaction of the
 * change, so an error prevents the change.
 */
import type { FastifyRequest } from 'fastify';
import { widensAccess, type AuthorizeChange, type KeyAccess } from '../../records/access-changes.js';
import type { Problem } from '../../platform/problems/errors.js';
import { checkWithinGrant } from './portal-scopes.js';
import type { Principal } from './principal.js';

const authorizers = new WeakMap<FastifyRequest, AuthorizeChange>();

/**
 * Sets the authorizer of a request. The authorizer throws `forbidden` for keys with scopes that a portal session is not
 * granted, and `unconfirmed` for changes that widen access.
 * @param unconfirmed problem `confirmation_required`. Null if the caller has confirmed their identity, or does not need
 * to.
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
