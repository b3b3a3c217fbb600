/** Fastify with plugins as in their documentation: a bearer check, one rate limit window in Redis, and a proxy. */
import Fastify from 'fastify';
import proxy from '@fastify/http-proxy';
import rateLimit from '@fastify/rate-limit';
import { Redis } from 'ioredis';
import { findKey } from './keys.mjs';

const app = Fastify();

app.addHook('onRequest', async (request, reply) => {
  request.apiKey = findKey(request.headers.authorization);
  if (!request.apiKey) return reply.code(401).send({ code: 'invalid_api_key' });
});
await app.register(rateLimit, {
  redis: new Redis(process.env.REDIS_URL),
  timeWindow: '1 minute',
  max: (request) => request.apiKey.minute,
  keyGenerator: (request) => request.apiKey.id,
});
await app.register(proxy, {
  upstream: process.env.BACKEND_URL,
  prefix: '/api/v1',
  undici: { connections: 128, pipelining: 1 },
  replyOptions: {
    rewriteRequestHeaders: (request, { authorization: _, ...headers }) => ({
      ...headers,
      'x-account-id': request.apiKey.account,
      'x-api-key-id': request.apiKey.id,
      'x-api-scopes': request.apiKey.scopes,
      'x-request-id': request.id,
    }),
  },
});
await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' });
