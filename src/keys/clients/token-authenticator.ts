/**
 * Marks requests to endpoints that accept OAuth access tokens instead of API keys. The mark is in a `WeakMap`, so that
 * other requests need no additional field. The mark is read only for requests without a usable key.
 */
import type { Problem } from '../../platform/problems/errors.js';

/** TokenAuthenticator authenticates the requests to an endpoint that accepts access tokens. */
export interface TokenAuthenticator {
  /** Returns the token of a request, or the error if there is none. */
  read(authorization: string | undefined): string | Problem;
  /** Returns the error to send instead of an error for API keys. */
  refusal(problem: Problem): Problem;
}

const authenticators = new WeakMap<object, TokenAuthenticator>();

/** Marks a request as sent to an endpoint of this authenticator. */
export function markForAuthenticator(authenticator: TokenAuthenticator, message: object): void {
  authenticators.set(message, authenticator);
}

/** Returns the authenticator of a marked request. Undefined for endpoints that accept API keys. */
export function tokenAuthenticatorOf(message: object): TokenAuthenticator | undefined {
  return authenticators.get(message);
}
