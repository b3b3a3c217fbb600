/**
 * The way of nearly every request: from its connection, or from Node's server, by the entrance straight to the steps
 * (`src/admission/steps.ts`). Nest's router would ask the same ones with eight async functions, and Fastify's would
 * look the operation up in a table that has one entry. What is not for the API, or comes by HTTP/1.0, goes on through
 * both of them and to the same steps; what another plane has a door for goes there.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Door } from '../../admission/doors/door.js';
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

/** What it needs of the rest. */
export interface FastPathParts {
  readonly routes: Routes;
  readonly entrance: Entrance;
  /** Of requests without an `Idempotency-Key`. */
  readonly walk: StepWalk<Exchange>;
  /** Of requests with one. */
  readonly keyedWalk: StepWalk<Exchange>;
  /** Of another plane; undefined: there is none. */
  readonly door: Door | undefined;
}

export class FastPath implements PlainRequestHandler {
  readonly keepAliveTimeoutMs = KEEP_ALIVE_TIMEOUT_MS;

  constructor(private readonly parts: FastPathParts) {}

  /** Stands before the listeners that a server has for requests. */
  install(server: Server): void {
    const others = server.listeners('request') as ((message: IncomingMessage, response: ServerResponse) => void)[];
    const serve = (message: IncomingMessage, response: ServerResponse): void => {
      const exchange = this.parts.entrance.receive(message, response);
      if (exchange === undefined || this.takes(exchange)) return;
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

  /** Serves a plain request for the API, or for the door; false: it is left untouched. */
  readonly serve = (request: PlainRequest, connection: PlainConnection): boolean => {
    const { routes, entrance } = this.parts;
    const { method, url } = request;
    const path = pathOf(url);
    const match = routes.match(method, path);
    if (match.kind === 'not_ours') return this.serveAtDoor(path, request, connection);
    const exchange = entrance.receivePlain(request, connection);
    if (exchange !== undefined) this.lead(exchange, match);
    return true;
  };

  /** Serves a request of HTTP/2 for the API that is its stream; false: it is left untouched. */
  readonly serveStream = (request: StreamRequest): boolean => {
    const { routes, entrance } = this.parts;
    const match = routes.match(request.method, pathOf(request.url));
    if (match.kind === 'not_ours') return false;
    const exchange = entrance.receiveStream(request);
    if (exchange !== undefined) this.lead(exchange, match);
    return true;
  };

  /** Leads a request that Node has read to the steps; false: it is for Fastify's router. */
  private takes(exchange: Exchange): boolean {
    const { routes } = this.parts;
    if (exchange.message.httpVersion === '1.0') return this.passesDoor(exchange);
    const match = routes.match(exchange.method, exchange.path);
    if (match.kind === 'not_ours') return this.passesDoor(exchange);
    this.lead(exchange, match);
    return true;
  }

  /** Leads a request for the API to the steps. */
  private lead(exchange: Exchange, match: RouteMatch): void {
    const { walk, keyedWalk } = this.parts;
    exchange.match = match;
    if (exchange.idempotencyField === undefined) walk.begin(exchange);
    else keyedWalk.begin(exchange);
  }

  /** Serves a plain request at the door; false: it is left untouched. */
  private serveAtDoor(path: string, request: PlainRequest, connection: PlainConnection): boolean {
    const { door, entrance } = this.parts;
    if (door?.takes(path) !== true) return false;
    const exchange = entrance.receivePlain(request, connection);
    if (exchange !== undefined) door.serve(exchange);
    return true;
  }

  /** Gives a request to the door that its path is one of; whether there is such a door. */
  private passesDoor(exchange: Exchange): boolean {
    const { door } = this.parts;
    if (door?.takes(exchange.path) !== true) return false;
    door.serve(exchange);
    return true;
  }
}

/** The path of a target in origin form, without the query. */
function pathOf(url: string): string {
  const query = url.indexOf('?');
  return query === -1 ? url : url.slice(0, query);
}
