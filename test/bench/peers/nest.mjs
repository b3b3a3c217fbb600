/**
 * A typical first gateway with Nest: Express, a guard that checks the key, the standard throttler with two windows in
 * Redis, and http-proxy. The proxy gets a keep-alive agent, which it lacks by default. Decorators are called as
 * functions, because Node runs this file without compiling it.
 */
import 'reflect-metadata';
import { Agent } from 'node:http';
import { All, Controller, Module, Req, Res, UnauthorizedException, UseGuards } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler';
import { ThrottlerStorageRedisService } from '@nest-lab/throttler-storage-redis';
import httpProxy from 'http-proxy';
import { Redis } from 'ioredis';
import { findKey } from './keys.mjs';

const proxy = httpProxy.createProxyServer({
  target: process.env.BACKEND_URL,
  // Without `maxSockets`, because http-proxy 1.18 leaks a socket for each client that disconnects (its issue 1559).
  agent: new Agent({ keepAlive: true }),
});
proxy.on('error', (_error, _request, response) => response.writeHead?.(502).end());

class ApiKeyGuard {
  canActivate(context) {
    const request = context.switchToHttp().getRequest();
    request.apiKey = findKey(request.headers.authorization);
    if (!request.apiKey) throw new UnauthorizedException();
    return true;
  }
}

class KeyThrottlerGuard extends ThrottlerGuard {
  async getTracker(request) {
    return request.apiKey.id;
  }
}

class GatewayController {
  forward(request, response) {
    const { account, id, scopes } = request.apiKey;
    delete request.headers.authorization;
    request.headers['x-account-id'] = account;
    request.headers['x-api-key-id'] = id;
    request.headers['x-api-scopes'] = scopes;
    request.url = request.url.replace('/api/v1', '');
    proxy.web(request, response);
  }
}
const forward = Object.getOwnPropertyDescriptor(GatewayController.prototype, 'forward');
All('api/v1/*path')(GatewayController.prototype, 'forward', forward);
Req()(GatewayController.prototype, 'forward', 0);
Res()(GatewayController.prototype, 'forward', 1);
UseGuards(ApiKeyGuard, KeyThrottlerGuard)(GatewayController);
Controller()(GatewayController);

const limitOf = (window) => (context) => context.switchToHttp().getRequest().apiKey[window];
class GatewayModule {}
Module({
  imports: [
    ThrottlerModule.forRoot({
      throttlers: [
        { name: 'minute', ttl: 60_000, limit: limitOf('minute') },
        { name: 'month', ttl: 30 * 86_400_000, limit: limitOf('month') },
      ],
      storage: new ThrottlerStorageRedisService(new Redis(process.env.REDIS_URL)),
    }),
  ],
  controllers: [GatewayController],
})(GatewayModule);

const app = await NestFactory.create(GatewayModule, { logger: ['error'], bodyParser: false });
await app.listen(Number(process.env.PORT), '127.0.0.1');
