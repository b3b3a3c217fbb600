/**
 * Endpoints that another part of the program, such as the MCP server, serves on the public listener. Their requests
 * bypass Fastify and Nest. The gateway validates the requests, passes them to the endpoint, and records their end.
 */
import type { EndpointRequest } from './endpoint-request.js';
import type { InnerPath } from './inner-call.js';

/** MountedEndpoint serves some paths of the public listener. */
export interface MountedEndpoint {
  /** Reports whether the endpoint serves a path. The path has no query and does not belong to an API. */
  serves(path: string): boolean;
  /** Responds to a request, or calls `EndpointHost.refuse`. Never throws. */
  serve(request: EndpointRequest): void;
}

/** EndpointHost is the gateway, as mounted endpoints use it. */
export interface EndpointHost {
  /** Makes API requests for the clients of the endpoint. */
  readonly inner: InnerPath;
  /**
   * Sends the error response, then ends and logs the request.
   * @param reason a thrown error, or the problem of a step.
   */
  refuse(request: EndpointRequest, reason: unknown): void;
}

/** MountEndpoint creates an endpoint for a gateway. */
export type MountEndpoint = (host: EndpointHost) => MountedEndpoint;
