/**
 * Marks requests to endpoints that accept OAuth access tokens instead of API keys. The mark is in a `WeakMap`, so that
 * other requests need no additional field. The mark is read only for requests without a usable key.
 */
import type { Problem } from '../../platform/problems/errors.js';

/** TokenDoor authenticates the requests to an endpoint that accepts access tokens. */
export interface TokenDoor {
  /** Returns the token of a request, or the error if there is none. */
  read(authorization: string | undefined): string | Problem;
  /** Returns the error to send instead of an error for API keys. */
  refusal(problem: Problem): Problem;
}

const doors = new WeakMap<object, TokenDoor>();

/** Marks a request as sent to an endpoint of this door. */
export function markForDoor(door: TokenDoor, message: object): void {
  doors.set(message, door);
}

/** Returns the door of a marked request. Undefined for endpoints that accept API keys. */
export function tokenDoorOf(message: object): TokenDoor | undefined {
  return doors.get(message);
}
