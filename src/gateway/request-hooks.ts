/** Before the first guard: the request gets its name and its limits are looked at; after the last byte it is recorded. */
import type { FastifyInstance } from 'fastify';
import { Problem } from '../errors.js';
import { plainAddress } from '../keys/address-list.js';
import type { ErrorFilter } from './error.filter.js';
import { Exchange, type GatewayRequest } from './exchange.js';
import type { RequestLog } from './request-log.js';

/** Longest path and query. Node's own limit is on the whole head and answers with a less helpful 431. */
const LONGEST_URL = 8_192;

/** Installs the hooks on the gateway's Fastify. */
export function installRequestHooks(fastify: FastifyInstance, requestLog: RequestLog, filter: ErrorFilter): void {
  fastify.decorateRequest('exchange', null);
  fastify.addHook('onRequest', (request, reply, done) => {
    const exchange = new Exchange(request.raw, reply.raw, request.raw.url ?? '');
    (request as GatewayRequest).exchange = exchange;
    const address = plainAddress(request.ip);
    reply.raw.once('close', () => requestLog.record(exchange, address));
    if (exchange.url.length > LONGEST_URL) {
      reply.hijack();
      filter.answer(new Problem('uri_too_long', { detail: `A URL may have ${LONGEST_URL} characters.` }), exchange);
      return;
    }
    done();
  });
  // Only what Fastify itself sends comes by here (the reference pages); everything else writes its own head.
  fastify.addHook('onSend', (request, reply, _payload, done) => {
    void reply.header('X-Request-Id', (request as GatewayRequest).exchange.requestId);
    done();
  });
}
