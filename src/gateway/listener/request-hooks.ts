/** Before the first guard: the request gets its name and its limits are looked at; after the last byte it is recorded. */
import type { ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { Problem } from '../../problems/errors.js';
import type { Arrivals } from '../request/arrivals.js';
import type { Cors } from '../request/cors.js';
import type { Draining } from './draining.js';
import type { ErrorFilter } from '../request/error.filter.js';
import type { Exchange, GatewayRequest } from '../request/exchange.js';
import { framingProblem, isHttp2 } from '../request/framing.js';
import { answerLast, isClosing } from '../request/last-answer.js';
import { answerOptions, forwardsProblem, methodsAtLastHop } from '../request/options.js';
import { requestLineProblem } from '../../admission/request-line.js';
import type { Routes } from '../../admission/routes.js';
import { forgetLastAllowed, isLastAllowed } from '../../platform/node-internals.js';

/** What the hooks need of the rest. */
export interface RequestHookParts {
  readonly arrivals: Arrivals;
  readonly filter: ErrorFilter;
  readonly routes: Routes;
  readonly cors: Cors;
  readonly draining: Draining;
}

/** Installs the hooks on the gateway's Fastify. */
export function installRequestHooks(
  fastify: FastifyInstance,
  { arrivals, filter, routes, cors, draining }: RequestHookParts,
): void {
  fastify.decorateRequest('exchange', null);
  fastify.addHook('onRequest', (request, reply, done) => {
    if (isClosing(request.raw.socket)) {
      reply.hijack();
      return;
    }
    endWithLastAnswer(reply.raw);
    if (draining.hasBegun) reply.raw.shouldKeepAlive = false;
    const broken = framingProblem(request.raw);
    const exchange = arrivals.begin(request.raw, reply.raw);
    (request as GatewayRequest).exchange = exchange;
    const problem = broken ?? requestProblem(exchange);
    const isPreflight = cors.enabled && cors.apply(exchange);
    if (problem === undefined) {
      const allow = isPreflight ? undefined : methodsAtLastHop(exchange, routes);
      if (!isPreflight && allow === undefined) {
        done();
        return;
      }
      reply.hijack();
      if (allow === undefined) cors.answerPreflight(exchange);
      else answerOptions(exchange, allow);
      return;
    }
    if (broken !== undefined && !isHttp2(request.raw)) {
      reply.raw.shouldKeepAlive = false;
      answerLast(request.raw);
    }
    reply.hijack();
    filter.answer(problem, exchange);
  });
  // Only what Fastify itself sends comes by here (the reference pages); everything else writes its own head.
  fastify.addHook('onSend', (request, reply, _payload, done) => {
    const { requestId, scheme } = (request as GatewayRequest).exchange;
    void reply.header('X-Request-Id', requestId);
    const [name, value] = scheme === 'https' ? arrivals.secureField : [];
    if (name !== undefined) void reply.header(name, value);
    done();
  });
}

/**
 * The last request that `gateway.limits.requestsPerConnection` lets a connection have. Node says `Connection: close` and goes on,
 * answering 503 to whatever comes behind it; here the connection ends.
 */
function endWithLastAnswer(response: ServerResponse): void {
  if (!isLastAllowed(response)) return;
  forgetLastAllowed(response);
  response.shouldKeepAlive = false;
}

/** What is wrong with a request that is framed well. */
function requestProblem({ message, url }: Exchange): Problem | undefined {
  return requestLineProblem(message.method, url) ?? forwardsProblem(message);
}
