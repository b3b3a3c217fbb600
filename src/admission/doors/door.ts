/**
 * What another plane serves on the public listener, past Fastify and Nest: a door has its paths, the gateway gives it
 * what comes for them behind the entrance, and sees to the end of each.
 */
import type { DoorRequest } from './door-request.js';
import type { InnerPath } from './inner-call.js';

/** Door is what a plane serves on the public listener. */
export interface Door {
  /** Whether it serves a path, which is none of the API; without the query. */
  takes(path: string): boolean;
  /** Serves a request: responds to it, or has it refused. Never throws. */
  serve(request: DoorRequest): void;
}

/** DoorHost is what the gateway does for a door. */
export interface DoorHost {
  /** Where requests of the API that a door makes itself begin. */
  readonly inner: InnerPath;
  /** Responds to a request with what was thrown, or with why a step said no: the one error shape, its end, its log. */
  refuse(request: DoorRequest, reason: unknown): void;
}

/** Opens a door, which has the gateway behind it. */
export type OpenDoor = (host: DoorHost) => Door;
