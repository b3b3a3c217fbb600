/**
 * What Fastify's router is told of a request that has come in by the entrance, and what its own responses say of it.
 */
import type { FastifyInstance } from 'fastify';
import type { Arrivals } from '../request/arrivals.js';
import { exchangeOf, type GatewayRequest } from '../request/exchange.js';

/** Installs the hooks on the gateway's Fastify. */
export function installRequestHooks(fastify: FastifyInstance, { secureField }: Pick<Arrivals, 'secureField'>): void {
  fastify.decorateRequest('exchange', null);
  fastify.addHook('onRequest', (request, reply, done) => {
    (request as GatewayRequest).exchange = exchangeOf(reply.raw);
    done();
  });
  // Only what Fastify itself sends comes by here (the reference pages); everything else writes its own head.
  fastify.addHook('onSend', (request, reply, _payload, done) => {
    const { requestId, scheme } = (request as GatewayRequest).exchange;
    void reply.header('X-Request-Id', requestId);
    const [name, value] = scheme === 'https' ? secureField : [];
    if (name !== undefined) void reply.header(name, value);
    done();
  });
}
