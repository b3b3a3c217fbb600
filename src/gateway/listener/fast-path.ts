/**
 * The way of nearly every request: from its connection, or from Node's server, straight to the steps
 * (`src/admission/steps.ts`). Nest's router would ask the same ones with eight async functions, and Fastify's would look the
 * operation up in a table that has one entry. What is not for the API, or framed in an unusual way, goes through both of them and comes to
 * the same steps.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { ClientMessage } from '../../http1/client/client-answer.js';
import { plainConnectionOf, type PlainConnection } from '../../http1/client/plain-connection.js';
import type { PlainRequestHandler } from '../../http1/client/plain-listener.js';
import type { PlainRequest } from '../../http1/client/plain-request.js';
import { forwardsLeft } from '../../proxy/fields/max-forwards.js';
import type { StepWalk } from '../../admission/step-walk.js';
import type { RouteMatch } from '../../proxy/routing/operation-table.js';
import type { Arrivals } from '../request/arrivals.js';
import { KEEP_ALIVE_TIMEOUT_MS } from '../request/connection-timeouts.js';
import type { Cors } from '../request/cors.js';
import type { Draining } from './draining.js';
import type { Exchange } from '../request/exchange.js';
import { framingProblem } from '../request/framing.js';
import { isClosing } from '../request/last-answer.js';
import { isKnownMethod } from '../../platform/methods.js';
import { hasFitQuery } from '../../admission/query.js';
import { mustWait } from './queued-answers.js';
import { LONGEST_URL } from '../../admission/request-line.js';
import type { Routes } from '../../admission/routes.js';
import { isLastAllowed } from '../../platform/node-internals.js';

/** What it needs of the rest. */
export interface FastPathParts {
  readonly routes: Routes;
  readonly cors: Cors;
  readonly draining: Draining;
  readonly arrivals: Arrivals;
  readonly walk: StepWalk<Exchange>;
}

export class FastPath implements PlainRequestHandler {
  readonly keepAliveTimeoutMs = KEEP_ALIVE_TIMEOUT_MS;

  constructor(private readonly parts: FastPathParts) {}

  /** Stands before the listeners that a server has for requests. */
  install(server: Server): void {
    const others = server.listeners('request') as ((message: IncomingMessage, response: ServerResponse) => void)[];
    const serve = (message: IncomingMessage, response: ServerResponse): void => {
      if (this.take(message, response)) return;
      for (const other of others) other.call(server, message, response);
    };
    server.removeAllListeners('request');
    server.on('request', (message: IncomingMessage, response: ServerResponse) => {
      const plain = plainConnectionOf(message.socket);
      if (plain?.adopt(message, response) === true) return;
      if (plain?.countNodes(response) === false) return;
      if (mustWait(message, response)) response.once('socket', () => serve(message, response));
      else serve(message, response);
    });
  }

  /** Serves a plain request for the API; false: it is left untouched. */
  readonly serve = (request: PlainRequest, connection: PlainConnection): boolean => {
    const { arrivals, draining } = this.parts;
    const match = this.match(request, request.url);
    if (match === undefined) return false;
    if (draining.hasBegun) connection.endConnection();
    this.run(arrivals.beginPlain(request, connection), match);
    return true;
  };

  /** Likewise a request that Node has read. */
  private take(message: IncomingMessage, response: ServerResponse): boolean {
    const { cors, draining, arrivals } = this.parts;
    const { url = '', httpVersion } = message;
    if (httpVersion !== '1.1' || isClosing(message.socket)) return false;
    if (isLastAllowed(response)) return false;
    // What may be answered before the first step.
    if (message.method === 'OPTIONS' && (cors.enabled || forwardsLeft(message) !== undefined)) return false;
    // What is read by hand has no other.
    if (!hasFitQuery(url)) return false;
    const match = this.match(message, url);
    if (match === undefined) return false;
    if (draining.hasBegun) response.shouldKeepAlive = false;
    this.run(arrivals.begin(message, response), match);
    return true;
  }

  /** What of the API a request asks for, or that it has no such thing; undefined where somebody else has to look at it. */
  private match(message: ClientMessage, url: string): RouteMatch | undefined {
    if (url.length > LONGEST_URL) return undefined;
    const query = url.indexOf('?');
    const match = this.parts.routes.match(message.method, query === -1 ? url : url.slice(0, query));
    // An operation has no other methods than such as everybody knows.
    if (match.kind === 'not_ours' || (match.kind !== 'operation' && !isKnownMethod(message.method))) return undefined;
    return framingProblem(message) === undefined ? match : undefined;
  }

  private run(exchange: Exchange, match: RouteMatch): void {
    const { cors, walk } = this.parts;
    exchange.match = match;
    if (cors.enabled) cors.apply(exchange);
    walk.begin(exchange);
  }
}
