/**
 * The way of nearly every request: from its connection, or from Node's server, straight to the guards and the handler of
 * `GatewayController`, in the order that stands there. Nest's router would call the same ones with eight async functions, and Fastify's
 * would look the operation up in a table that has one entry. What is not for the API, or framed in an unusual way, goes through both of
 * them and comes to the same guards.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { CanActivate, INestApplication, Type } from '@nestjs/common';
import { GUARDS_METADATA, INTERCEPTORS_METADATA, PIPES_METADATA } from '@nestjs/common/constants.js';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { Problem } from '../errors.js';
import type { ClientMessage } from '../http1/client-answer.js';
import { plainConnectionOf, type PlainConnection } from '../http1/plain-connection.js';
import type { PlainRequestHandler } from '../http1/plain-listener.js';
import type { PlainRequest } from '../http1/plain-request.js';
import type { RouteMatch } from '../proxy/operation-table.js';
import type { Arrivals } from './arrivals.js';
import { KEEP_ALIVE_TIMEOUT_MS } from './connections.js';
import type { Cors } from './cors.js';
import type { Draining } from './draining.js';
import type { ErrorFilter } from './error.filter.js';
import type { Exchange, GatewayReply, GatewayRequest } from './exchange.js';
import { framingProblem } from './framing.js';
import { GatewayController } from './gateway.controller.js';
import { isClosing } from './last-answer.js';
import { mustWait } from './queued-answers.js';
import { LONGEST_URL } from './request-hooks.js';
import type { Routes } from './routes.js';

/** What it needs of the rest. */
export interface FastPathParts {
  readonly routes: Routes;
  readonly cors: Cors;
  readonly draining: Draining;
  readonly arrivals: Arrivals;
  readonly filter: ErrorFilter;
}

/** What a handler says to Fastify: nobody listens. */
const NO_REPLY = { hijack: () => undefined } as unknown as GatewayReply;

export class FastPath implements PlainRequestHandler {
  readonly keepAliveTimeoutMs = KEEP_ALIVE_TIMEOUT_MS;
  private readonly guards: readonly CanActivate[];
  private readonly controller: GatewayController;

  /** @throws where the controller asks Nest for more than guards, which would be passed over here. */
  constructor(
    application: INestApplication,
    private readonly parts: FastPathParts,
  ) {
    const handler = GatewayController.prototype.forward;
    for (const asked of [INTERCEPTORS_METADATA, PIPES_METADATA]) {
      if (Reflect.hasMetadata(asked, GatewayController) || Reflect.hasMetadata(asked, handler)) {
        throw new Error(`GatewayController has ${asked}, which fast-path.ts does not run`);
      }
    }
    const guards = Reflect.getMetadata(GUARDS_METADATA, GatewayController) as Type<CanActivate>[];
    this.guards = guards.map((guard) => application.get(guard, { strict: false }));
    this.controller = application.get(GatewayController, { strict: false });
  }

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
  private take(
    message: IncomingMessage,
    response: ServerResponse & { maxRequestsOnConnectionReached?: boolean },
  ): boolean {
    const { cors, draining, arrivals } = this.parts;
    const { url = '', httpVersion } = message;
    if (httpVersion !== '1.1' || isClosing(message.socket)) return false;
    // A preflight is answered before the first step.
    if (response.maxRequestsOnConnectionReached === true || (cors.enabled && message.method === 'OPTIONS'))
      return false;
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
    const match = this.parts.routes.match({ message, path: query === -1 ? url : url.slice(0, query) });
    return match.kind !== 'not_ours' && framingProblem(message) === undefined ? match : undefined;
  }

  private run(exchange: Exchange, match: RouteMatch): void {
    const { cors } = this.parts;
    exchange.match = match;
    if (cors.enabled) cors.apply(exchange);
    const request = { exchange } as GatewayRequest;
    const context = new ExecutionContextHost(
      [request, NO_REPLY],
      GatewayController,
      GatewayController.prototype.forward,
    );
    this.goOn(0, request, context);
  }

  /** The guards from `first` on, and the handler behind the last of them. */
  private goOn(first: number, request: GatewayRequest, context: ExecutionContextHost): void {
    const { guards } = this;
    try {
      for (let index = first; index < guards.length; index++) {
        const answer = guards[index]?.canActivate(context);
        if (answer === true) continue;
        if (answer instanceof Promise) {
          this.runLater(answer as Promise<boolean>, index + 1, request, context);
          return;
        }
        this.refuse(whyNot(request.exchange), request.exchange);
        return;
      }
      this.controller.forward(request, NO_REPLY);
    } catch (error) {
      this.refuse(error, request.exchange);
    }
  }

  private runLater(
    answer: Promise<boolean>,
    first: number,
    request: GatewayRequest,
    context: ExecutionContextHost,
  ): void {
    answer.then(
      (isAllowed) => {
        if (isAllowed) this.goOn(first, request, context);
        else this.refuse(whyNot(request.exchange), request.exchange);
      },
      (error: unknown) => this.refuse(error, request.exchange),
    );
  }

  private refuse(error: unknown, exchange: Exchange): void {
    this.parts.filter.answer(error, exchange);
  }
}

/** Why a guard said no: it says so itself, or it stands in the wrong place. */
function whyNot({ refusal }: Exchange): Problem {
  return refusal ?? new Problem('internal_error');
}
