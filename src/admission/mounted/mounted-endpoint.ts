/**
 * Interfaces of mounted endpoints, by which another part of the program, such as the MCP server, serves paths on the
 * public listener. The requests bypass Fastify and Nest. The gateway validates each request, passes it to the endpoint,
 * and records its end.
 */
import type { EndpointRequest } from './endpoint-request.js';
import type { InnerPath } from './inner-call.js';

/** MountedEndpoint serves requests to some paths of the public listener. */
export interface MountedEndpoint {
  /**
   * Reports whether the endpoint serves a path.
   * @param path path without the query. It does not belong to an API.
   */
  serves(path: string): boolean;
  /** Responds to a request, or refuses the request with `EndpointHost.refuse`. Never throws. */
  serve(request: EndpointRequest): void;
}

/** EndpointHost lets a mounted endpoint use the gateway: make API requests and refuse requests. */
export interface EndpointHost {
  /** Starts API requests for the clients of the endpoint. */
  readonly inner: InnerPath;
  /**
   * Refuses a request: sends the error response, and logs the request.
   * @param reason a thrown error, or the problem of a step.
   */
  refuse(request: EndpointRequest, reason: unknown): void;
}

/** MountEndpoint creates the endpoint when the gateway is built. */
export type MountEndpoint = (host: EndpointHost) => MountedEndpoint;
