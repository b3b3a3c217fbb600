/**
 * The one entrance: what is done with every request before the first step, once, whether it was read by hand or by
 * Node, over HTTP/2, or asks for an upgrade. Refuses with 400, 403, 414, 421, 431 and 501; responds itself to OPTIONS
 * that go no further.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Door } from '../../admission/doors/door.js';
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
import { respondToOptions, forwardsProblem, isOfServer, methodsAtLastHop, SERVER_METHODS } from '../request/options.js';
import type { Draining } from './draining.js';

/** EntranceParts are what the entrance stands on. */
export interface EntranceParts {
  readonly arrivals: Arrivals;
  readonly filter: ErrorFilter;
  readonly routes: Routes;
  readonly cors: Cors;
  readonly entranceRules: EntranceRules;
  readonly draining: Draining;
  /** Answers preflights of its paths itself; undefined: there is none. */
  readonly door: Door | undefined;
}

/** Entrance admits requests to the steps. */
export class Entrance {
  private readonly arrivals: Arrivals;
  private readonly filter: ErrorFilter;
  private readonly routes: Routes;
  private readonly cors: Cors;
  private readonly rules: EntranceRules;
  private readonly draining: Draining;
  private readonly door: Door | undefined;

  constructor({ arrivals, filter, routes, cors, entranceRules, draining, door }: EntranceParts) {
    this.arrivals = arrivals;
    this.filter = filter;
    this.routes = routes;
    this.cors = cors;
    this.rules = entranceRules;
    this.draining = draining;
    this.door = door;
  }

  /**
   * Receives a request that Node has read. @returns what `admit` returns; undefined as well for what must not be
   * served.
   */
  receive(message: IncomingMessage, response: ServerResponse): Exchange | undefined {
    // RFC 9112 section 9.6: it was sent behind the last request of its connection.
    if (isClosing(message.socket)) return undefined;
    endWithLastResponse(response);
    // Before it has its name: an absolute target takes the place of the Host that was sent.
    const broken = framingProblem(message);
    return this.admit(this.arrivals.begin(message, response), broken);
  }

  /** Receives a plain request, likewise. */
  receivePlain(request: PlainRequest, connection: PlainConnection): Exchange | undefined {
    return this.admit(this.arrivals.beginPlain(request, connection), framingProblem(request));
  }

  /** Receives a request of HTTP/2 that is its stream, likewise. */
  receiveStream(request: StreamRequest): Exchange | undefined {
    return this.admit(this.arrivals.beginStream(request), framingProblem(request));
  }

  /**
   * Admits a request.
   * @param broken what is wrong with its framing.
   * @returns the request that goes on to the steps; undefined: it has had its response.
   */
  private admit(exchange: Exchange, broken: Problem | undefined): Exchange | undefined {
    const { message } = exchange;
    if (this.draining.hasBegun) exchange.response.endConnection();
    const isPreflight = this.cors.enabled && this.appliesCors(exchange) && this.cors.apply(exchange);
    if (isPreflight && broken === undefined) {
      this.cors.respondToPreflight(exchange);
      return undefined;
    }
    // The parser has already validated the method and the characters of a plain request.
    const problem = broken ?? (message instanceof PlainRequest ? undefined : lineProblem(exchange));
    if (problem !== undefined) {
      if (broken !== undefined || !exchange.url.startsWith('/')) endWithResponse(exchange);
      this.filter.respond(problem, exchange);
      return undefined;
    }
    const refusal = this.rules.refusalOf(exchange);
    if (refusal !== undefined) {
      this.filter.respond(refusal, exchange);
      return undefined;
    }
    return exchange.method === 'OPTIONS' && this.respondsTo(exchange) ? undefined : exchange;
  }

  /** Whether `gateway.cors` decides about a request. A door has its own rules. */
  private appliesCors(exchange: Exchange): boolean {
    return this.door?.takes(exchange.path) !== true;
  }

  /** Responds to an OPTIONS about the server as a whole, and to one that has reached its last hop. */
  private respondsTo(exchange: Exchange): boolean {
    const allow = isOfServer(exchange) ? SERVER_METHODS : methodsAtLastHop(exchange, this.routes);
    if (allow === undefined) return false;
    respondToOptions(exchange, allow);
    return true;
  }
}

/**
 * What is wrong with a request that is framed well. Of the server as a whole it can be asked by OPTIONS alone (RFC 9112
 * section 3.2.4).
 */
function lineProblem(exchange: Exchange): Problem | undefined {
  if (isOfServer(exchange)) return undefined;
  return requestLineProblem(exchange.method, exchange.url) ?? forwardsProblem(exchange.message);
}

/**
 * The last request that `gateway.limits.requestsPerConnection` lets a connection have. Node says `Connection: close`
 * and goes on, sending 503 to whatever comes behind it; here the connection ends.
 */
function endWithLastResponse(response: ServerResponse): void {
  if (!isLastAllowed(response)) return;
  forgetLastAllowed(response);
  response.shouldKeepAlive = false;
}

/**
 * What follows on a connection whose framing is in doubt must not be served. A connection of HTTP/2 has no framing of
 * requests.
 */
function endWithResponse({ message, response }: Exchange): void {
  if (isHttp2(message)) return;
  response.endConnection();
  if (!(message instanceof PlainRequest)) makeResponseLast(message as IncomingMessage);
}
