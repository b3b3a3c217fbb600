/**
 * Doors are endpoints that another plane serves on the public listener, without Fastify and Nest. The gateway validates
 * the requests for their paths, passes them on, and ends them.
 */
import type { DoorRequest } from './door-request.js';
import type { InnerPath } from './inner-call.js';

/** Door serves some paths of the public listener. */
export interface Door {
  /** Reports whether the door serves a path. The path has no query, and is not part of the API. */
  serves(path: string): boolean;
  /** Serves a request: responds, or calls `DoorHost.refuse`. Never throws. */
  serve(request: DoorRequest): void;
}

/** DoorHost is the interface of the gateway for doors. */
export interface DoorHost {
  /** Starts API requests on behalf of the door. */
  readonly inner: InnerPath;
  /**
   * Sends the error response, then ends and logs the request.
   * @param reason a thrown error, or the problem of a step.
   */
  refuse(request: DoorRequest, reason: unknown): void;
}

/** OpenDoor creates a door for a gateway. */
export type OpenDoor = (host: DoorHost) => Door;
