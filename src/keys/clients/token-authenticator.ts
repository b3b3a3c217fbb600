/**
 * Marks requests to endpoints that accept OAuth access tokens instead of API keys. A `WeakMap` stores the marks, so
 * that other requests need no additional field. The key step reads the mark only if a request has no usable key or is
 * refused.
 */
import type { Problem } from '../../platform/problems/errors.js';

/** TokenAuthenticator authenticates the requests to an endpoint that accepts access tokens. */
export interface TokenAuthenticator {
  /** Returns the access token of a request, or the problem if there is none. */
  readToken(authorization: string | undefined): string | Problem;
  /** Returns the problem to send instead of a problem about API keys. */
  toTokenProblem(problem: Problem): Problem;
}

const authenticators = new WeakMap<object, TokenAuthenticator>();

/** Marks a request as a request to an endpoint of this authenticator. */
export function markForAuthenticator(authenticator: TokenAuthenticator, message: object): void {
  authenticators.set(message, authenticator);
}

/** Returns the authenticator of a marked request. Returns undefined for requests that need an API key. */
export function tokenAuthenticatorOf(message: object): TokenAuthenticator | undefined {
  return authenticators.get(message);
}
