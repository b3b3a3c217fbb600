/**
 * Authorizes a change against the row that it modifies. The permission guard prepares the decision, `ChangedBy` passes
 * it to the store, and the store calls it inside its transaction.
 */
import type { FastifyRequest } from 'fastify';
import { widensAccess, type AuthorizeChange, type KeyAccess } from '../../records/access-changes.js';
import type { Problem } from '../../platform/problems/errors.js';
import { checkWithinGrant } from './portal-scopes.js';
import type { Principal } from './principal.js';

const authorizers = new WeakMap<FastifyRequest, AuthorizeChange>();

/** @param unconfirmed the problem for a change that widens access; null: the caller has confirmed or need not. */
export function setAuthorizer(request: FastifyRequest, principal: Principal, unconfirmed: Problem | null): void {
  authorizers.set(request, (kind, before, after) => {
    if (kind === 'api_key') {
      for (const access of [before, after])
        if (access !== null) checkWithinGrant(principal, (access as KeyAccess).scopes);
    }
    if (unconfirmed !== null && widensAccess(kind, before, after)) throw unconfirmed;
  });
}

/** Returns the authorizer for changes of a request; undefined if the guard has set none. */
export function authorizerOf(request: FastifyRequest): AuthorizeChange | undefined {
  return authorizers.get(request);
}
