/**
 * Decides on the row that a change is applied to whether its caller may make it. The permission guard prepares the
 * decision, `ChangedBy` hands it to the store, and the store asks it in its transaction.
 */
import type { FastifyRequest } from 'fastify';
import { widensAccess, type AuthorizeChange, type KeyAccess } from '../../records/access-changes.js';
import type { Problem } from '../../platform/problems/errors.js';
import { checkWithinGrant } from './portal-scopes.js';
import type { Principal } from './principal.js';

const authorizers = new WeakMap<FastifyRequest, AuthorizeChange>();

/** @param unconfirmed what a change that widens access is refused with; null: it is not. */
export function setAuthorizer(request: FastifyRequest, principal: Principal, unconfirmed: Problem | null): void {
  authorizers.set(request, (kind, before, after) => {
    if (kind === 'api_key') {
      for (const access of [before, after])
        if (access !== null) checkWithinGrant(principal, (access as KeyAccess).scopes);
    }
    if (unconfirmed !== null && widensAccess(kind, before, after)) throw unconfirmed;
  });
}

/** Returns the decision for the changes of a request; undefined where the guard has made none. */
export function authorizerOf(request: FastifyRequest): AuthorizeChange | undefined {
  return authorizers.get(request);
}
