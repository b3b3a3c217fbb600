/**
 * Requests that came in where access tokens are taken in the place of API keys. Which ones, stands beside the messages:
 * no other request has a field more, and only one without a usable key is looked for here.
 */
import type { Problem } from '../../platform/problems/errors.js';

/** TokenDoor is what differs where access tokens are taken. */
export interface TokenDoor {
  /** The token of a request, or why it has none. */
  read(authorization: string | undefined): string | Problem;
  /** What a client is told there in the place of a refusal. */
  refusal(problem: Problem): Problem;
}

const doors = new WeakMap<object, TokenDoor>();

/** Says by which door a message came in. */
export function enterBy(door: TokenDoor, message: object): void {
  doors.set(message, door);
}

/** The door that a message came in by; undefined for one that came in where keys are taken, as nearly all. */
export function tokenDoorOf(message: object): TokenDoor | undefined {
  return doors.get(message);
}
