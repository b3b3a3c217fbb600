/**
 * Validates every request on the public listener before the first admission step, whichever parser has read the
 * request. Rejects with 400, 403, 414, 421, 431 and 501. Responds to CORS preflights, and to OPTIONS requests that are
 * not forwarded.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { MountedEndpoint } from '../../admission/mounted/mounted-endpoint.js';
import { requestLineProblem } from '../../admission/request-line.js';
import type { Routes } from '../../admission/routes.js';
import type { PlainConnection } from '../../http/client/plain-connection.js';
import { PlainRequest } from '../../http/client/plain-request.js';
import { forgetLastAllowed, isLastAllowed } from '../../platform/node-internals.js';
import type { Problem } from '../../platform/problems/errors.js';
import type { Arrivals } from '../request/arrivals.js';
import type { Cors } from '../request/cors.js';
import type { EntranceRules } from '../request/entrance-rules.js';
import type { ErrorFilter } from '../request/error.filter.js';
import type { Exchange } from '../request/exchange.js';
import { framingProblem, isHttp2 } from '../request/framing.js';
import type { StreamRequest } from '../request/http2-message.js';
import { isClosing, makeResponseLast } from '../request/last-response.js';
import {
  respondToOptions,
  forwardsProblem,
  isServerWideOptions,
  methodsAtLastHop,
  SERVER_METHODS,
} from '../request/options.js';
import type { Draining } from './draining.js';

/** EntranceParts holds the dependencies of `Entrance`. */
export interface EntranceParts {
  readonly arrivals: Arrivals;
  readonly filter: ErrorFilter;
  readonly routes: Routes;
  readonly cors: Cors;
  readonly entranceRules: EntranceRules;
  readonly draining: Draining;
  /**
   * Another service on the listener, such as the MCP server, which handles the preflights for its own paths. Undefined
   * if there is none.
   */
  readonly endpoint: MountedEndpoint | undefined;
}

/** Entrance validates requests, and responds to the requests that it rejects. */
export class Entrance {
  private readonly arrivals: Arrivals;
  private readonly filter: ErrorFilter;
  private readonly routes: Routes;
  private readonly cors: Cors;
  private readonly rules: EntranceRules;
  private readonly draining: Draining;
  private readonly endpoint: MountedEndpoint | undefined;

  constructor({ arrivals, filter, routes, cors, entranceRules, draining, endpoint }: EntranceParts) {
    this.arrivals = arrivals;
    this.filter = filter;
    this.routes = routes;
    this.cors = cors;
    this.rules = entranceRules;
    this.draining = draining;
    this.endpoint = endpoint;
  }

  /**
   * Validates a request that Node has parsed.
   * @returns the exchange for the steps. Undefined if the request already has its response, or must not be served.
   */
  receive(message: IncomingMessage, response: ServerResponse): Exchange | undefined {
    // An earlier request was the last one that this connection serves (RFC 9112 section 9.6).
    if (isClosing(message.socket)) return undefined;
    endWithLastResponse(response);
    // Check the framing before the exchange is created. Creating the exchange replaces `Host` if the target is
    // absolute.
    const framingError = framingProblem(message);
    return this.validate(this.arrivals.begin(message, response), framingError);
  }

  /** Validates a request that the plain parser has read. The result is that of `receive`. */
  receivePlain(request: PlainRequest, connection: PlainConnection): Exchange | undefined {
    return this.validate(this.arrivals.beginPlain(request, connection), framingProblem(request));
  }

  /** Validates an HTTP/2 request without Node's request object. The result is that of `receive`. */
  receiveStream(request: StreamRequest): Exchange | undefined {
    return this.validate(this.arrivals.beginStream(request), framingProblem(request));
  }

  /**
   * Validates a request, and responds to it if it is rejected, a preflight, or an OPTIONS request that is not
   * forwarded.
   * @param framingError result of `framingProblem`
   * @returns the exchange for the steps. Undefined if the request already has its response.
   */
  private validate(exchange: Exchange, framingError: Problem | undefined): Exchange | undefined {
    const { message } = exchange;
    if (this.draining.hasBegun) exchange.response.endConnection();
    const isPreflight = this.cors.enabled && this.appliesCors(exchange) && this.cors.apply(exchange);
    if (isPreflight && framingError === undefined) {
      this.cors.respondToPreflight(exchange);
      return undefined;
    }
    // The plain parser has already validated the method and characters.
    const problem = framingError ?? (message instanceof PlainRequest ? undefined : lineProblem(exchange));
    if (problem !== undefined) {
      if (framingError !== undefined || !exchange.url.startsWith('/')) endWithResponse(exchange);
      this.filter.respond(problem, exchange);
      return undefined;
    }
    const refusal = this.rules.refusalOf(exchange);
    if (refusal !== undefined) {
      this.filter.respond(refusal, exchange);
      return undefined;
    }
    return exchange.method === 'OPTIONS' && this.respondIfOptions(exchange) ? undefined : exchange;
  }

  /** Reports whether `gateway.cors` applies to a request. Other services on the listener have their own rules. */
  private appliesCors(exchange: Exchange): boolean {
    return this.endpoint?.serves(exchange.path) !== true;
  }

  /**
   * Responds to OPTIONS for the whole server, and to OPTIONS with `Max-Forwards: 0`. Returns false for other requests.
   */
  private respondIfOptions(exchange: Exchange): boolean {
    const allow = isServerWideOptions(exchange) ? SERVER_METHODS : methodsAtLastHop(exchange, this.routes);
    if (allow === undefined) return false;
    respondToOptions(exchange, allow);
    return true;
  }
}

/**
 * Returns the error in the request line or in `Max-Forwards`, or undefined. The target `*` is valid only for OPTIONS
 * (RFC 9112 section 3.2.4).
 */
function lineProblem(exchange: Exchange): Problem | undefined {
  if (isServerWideOptions(exchange)) return undefined;
  return requestLineProblem(exchange.method, exchange.url) ?? forwardsProblem(exchange.message);
}

/**
 * Makes Node close the connection after its last allowed request (`gateway.limits.requestsPerConnection`). Node alone
 * would send `Connection: close`, but then respond to further requests with 503.
 */
function endWithLastResponse(response: ServerResponse): void {
  if (!isLastAllowed(response)) return;
  forgetLastAllowed(response);
  response.shouldKeepAlive = false;
}

/**
 * Closes the connection after the response to a request with doubtful framing. The bytes after such a request cannot be
 * trusted. Over HTTP/2, the connection stays open, because each stream has its own framing.
 */
function endWithResponse({ message, response }: Exchange): void {
  if (isHttp2(message)) return;
  response.endConnection();
  if (!(message instanceof PlainRequest)) makeResponseLast(message as IncomingMessage);
}
