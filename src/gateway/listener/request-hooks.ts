/**
 * Installs Fastify hooks that attach the exchange to requests, and that add the gateway's fields to Fastify's own
 * responses.
 */
import type { FastifyInstance } from 'fastify';
import type { Arrivals } from '../request/arrivals.js';
import { exchangeOf, type GatewayRequest } from '../request/exchange.js';

/** Installs the hooks on the Fastify instance of the gateway. */
export function installRequestHooks(fastify: FastifyInstance, { secureField }: Pick<Arrivals, 'secureField'>): void {
  fastify.decorateRequest('exchange', null);
  fastify.addHook('onRequest', (request, reply, done) => {
    (request as GatewayRequest).exchange = exchangeOf(reply.raw);
    done();
  });
  // Fastify itself sends only public documents: the reference pages and the public keys of webhooks. Pages of any
  // origin may read these documents. The gateway writes all other responses without Fastify.
  fastify.addHook('onSend', (request, reply, _payload, done) => {
    const { requestId, scheme } = (request as GatewayRequest).exchange;
    void reply.header('X-Request-Id', requestId).header('Access-Control-Allow-Origin', '*');
    const [name, value] = scheme === 'https' ? secureField : [];
    if (name !== undefined) void reply.header(name, value);
    done();
  });
}
