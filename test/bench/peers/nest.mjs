/**
 * Nest as a team would first put it together: Express below, a guard for the key, the stock throttler with two windows and
 * its Redis storage, http-proxy behind (with the keep-alive agent that it does not have by default).
 * Decorators are applied by hand, because Node runs this file as it is.
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
  // without a most: every client that goes away leaks a socket of http-proxy 1.18 (its issue 1559), and 128 are soon gone
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
