/**
 * A door serves endpoints of another part of the program, such as the MCP server, on the public listener. Its requests
 * bypass Fastify and Nest. The gateway validates the requests, passes them to the door, and records their end.
 */
import type { DoorRequest } from './door-request.js';
import type { InnerPath } from './inner-call.js';

/** Door serves some paths of the public listener. */
export interface Door {
  /** Reports whether the door serves a path. The path has no query and does not belong to an API. */
  serves(path: string): boolean;
  /** Responds to a request, or calls `DoorHost.refuse`. Never throws. */
  serve(request: DoorRequest): void;
}

/** DoorHost is the gateway, as doors use it. */
export interface DoorHost {
  /** Makes API requests for the clients of the door. */
  readonly inner: InnerPath;
  /**
   * Sends the error response, then ends and logs the request.
   * @param reason a thrown error, or the problem of a step.
   */
  refuse(request: DoorRequest, reason: unknown): void;
}

/** OpenDoor creates a door for a gateway. */
export type OpenDoor = (host: DoorHost) => Door;
