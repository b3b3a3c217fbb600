/**
 * Passes nearly every request from the connection through the entrance directly to the steps
 * (`src/admission/steps.ts`). Nest's router would need eight async functions for the same steps, and Fastify's router
 * would need a lookup. HTTP/1.0 requests, and paths outside the API, pass both routers. Requests for the MCP server go
 * to its endpoint.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { MountedEndpoint } from '../../admission/mounted/mounted-endpoint.js';
import type { Routes } from '../../admission/routes.js';
import type { StepWalk } from '../../admission/step-walk.js';
import { plainConnectionOf, type PlainConnection } from '../../http/client/plain-connection.js';
import type { PlainRequestHandler } from '../../http/client/plain-listener.js';
import type { PlainRequest } from '../../http/client/plain-request.js';
import { KEEP_ALIVE_TIMEOUT_MS } from '../request/connection-timeouts.js';
import type { Exchange } from '../request/exchange.js';
import type { RouteMatch } from '../../proxy/routing/operation-table.js';
import type { StreamRequest } from '../request/http2-message.js';
import type { Entrance } from './entrance.js';
import { mustWait } from './queued-responses.js';

/** FastPathParts holds the dependencies of the fast path. */
export interface FastPathParts {
  readonly routes: Routes;
  readonly entrance: Entrance;
  /** Steps for requests without an `Idempotency-Key`. */
  readonly walk: StepWalk<Exchange>;
  /** Steps for requests with an `Idempotency-Key`. */
  readonly keyedWalk: StepWalk<Exchange>;
  /** Another service on the listener, such as the MCP server. Undefined if there is none. */
  readonly endpoint: MountedEndpoint | undefined;
}

export class FastPath implements PlainRequestHandler {
  readonly keepAliveTimeoutMs = KEEP_ALIVE_TIMEOUT_MS;

  constructor(private readonly parts: FastPathParts) {}

  /**
   * Replaces the `request` listeners of a server. Requests that the fast path does not serve go to the previous
   * listeners.
   */
  install(server: Server): void {
    const others = server.listeners('request') as ((message: IncomingMessage, response: ServerResponse) => void)[];
    const serve = (message: IncomingMessage, response: ServerResponse): void => {
      const exchange = this.parts.entrance.receive(message, response);
      if (exchange === undefined || this.serveIfOurs(exchange)) return;
      for (const other of others) other.call(server, message, response);
    };
    server.removeAllListeners('request');
    server.on('request', (message: IncomingMessage, response: ServerResponse) => {
      const plain = plainConnectionOf(message.socket);
      if (plain?.adopt(message, response) === true) return;
      if (plain?.countNodeRequest(response) === false) return;
      if (mustWait(message, response)) response.once('socket', () => serve(message, response));
      else serve(message, response);
    });
  }

  /**
   * Serves a plain request. Returns false without using the request if its path belongs neither to an API nor to the
   * endpoint.
   */
  readonly serve = (request: PlainRequest, connection: PlainConnection): boolean => {
    const { routes, entrance } = this.parts;
    const { method, url } = request;
    const path = pathOf(url);
    const match = routes.match(method, path, request);
    if (match.kind === 'not_ours') return this.servePlainMounted(path, request, connection);
    const exchange = entrance.receivePlain(request, connection);
    if (exchange !== undefined) this.startSteps(exchange, match);
    return true;
  };

  /**
   * Serves an HTTP/2 request without Node's request object. Returns false without using the request if its path does
   * not belong to an API.
   */
  readonly serveStream = (request: StreamRequest): boolean => {
    const { routes, entrance } = this.parts;
    const match = routes.match(request.method, pathOf(request.url), request);
    if (match.kind === 'not_ours') return false;
    const exchange = entrance.receiveStream(request);
    if (exchange !== undefined) this.startSteps(exchange, match);
    return true;
  };

  /** Serves a request that Node has parsed. Returns false if Fastify must route the request. */
  private serveIfOurs(exchange: Exchange): boolean {
    const { routes } = this.parts;
    const match = routes.match(exchange.method, exchange.path, exchange.message);
    // HTTP/1.0 requests go through Fastify. Fastify does not know which host names serve a path, so a 404 is sent here.
    const isForFastify = exchange.message.httpVersion === '1.0' && match.kind !== 'not_found';
    if (isForFastify || match.kind === 'not_ours') return this.serveMounted(exchange);
    this.startSteps(exchange, match);
    return true;
  }

  private startSteps(exchange: Exchange, match: RouteMatch): void {
    const { walk, keyedWalk } = this.parts;
    exchange.match = match;
    if (exchange.idempotencyField === undefined) walk.begin(exchange);
    else keyedWalk.begin(exchange);
  }

  /**
   * Serves a plain request by the endpoint. Returns false without using the request if the endpoint does not serve the
   * path.
   */
  private servePlainMounted(path: string, request: PlainRequest, connection: PlainConnection): boolean {
    const { endpoint, entrance } = this.parts;
    if (endpoint?.serves(path) !== true) return false;
    const exchange = entrance.receivePlain(request, connection);
    if (exchange !== undefined) endpoint.serve(exchange);
    return true;
  }

  /** Serves a validated request by the endpoint. Returns false if the endpoint does not serve the path. */
  private serveMounted(exchange: Exchange): boolean {
    const { endpoint } = this.parts;
    if (endpoint?.serves(exchange.path) !== true) return false;
    endpoint.serve(exchange);
    return true;
  }
}

/** Returns the path of a target in origin form, without the query. */
function pathOf(url: string): string {
  const query = url.indexOf('?');
  return query === -1 ? url : url.slice(0, query);
}
