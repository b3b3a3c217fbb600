/**
 * Marks requests to endpoints that accept access tokens instead of API keys. The mark is in a `WeakMap`, so that other
 * requests need no additional field. It is read only for requests without a usable key.
 */
import type { Problem } from '../../platform/problems/errors.js';

/** TokenDoor is the authentication of an endpoint that accepts access tokens. */
export interface TokenDoor {
  /** Returns the token of a request, or the error if there is none. */
  read(authorization: string | undefined): string | Problem;
  /** Returns the error to send instead of an error for API keys. */
  refusal(problem: Problem): Problem;
}

const doors = new WeakMap<object, TokenDoor>();

/** Marks a message. */
export function enterBy(door: TokenDoor, message: object): void {
  doors.set(message, door);
}

/** Returns the door of a marked message. Undefined for endpoints that accept API keys. */
export function tokenDoorOf(message: object): TokenDoor | undefined {
  return doors.get(message);
}
