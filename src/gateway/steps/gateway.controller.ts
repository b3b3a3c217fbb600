/**
 * READ FIRST: the request path, top to bottom. Before it, `fast-path.ts` or `request-hooks.ts` names the request; when a step refuses,
 * `error.filter.ts` writes the one error shape; at the end `request-log.ts` counts it and writes its one log line.
 */
import { All, Controller, Req, Res, UseGuards } from '@nestjs/common';
import { ApiKeyGuard } from './api-key.guard.js';
import { Backend } from './backend.js';
import type { GatewayReply, GatewayRequest } from '../request/exchange.js';
import { QuotaGuard } from './quota.guard.js';
import { RouteGuard } from './route.guard.js';
import { ScopeGuard } from './scope.guard.js';

/** Guards run in this order; the first refusal ends the request, and a refused request has cost nothing. */
@Controller()
@UseGuards(
  RouteGuard, //  400 404 405 410 which operation is asked for
  ApiKeyGuard, // 400 401 403 429 503 who is calling
  ScopeGuard, //  403             what the key may do
  QuotaGuard, //  429 503         whether there is room, in every window at once
)
export class GatewayController {
  constructor(private readonly backend: Backend) {}

  /** The operation's service answers: 413, 502, 503, 504 and whatever it says. */
  @All('*')
  forward(@Req() request: GatewayRequest, @Res() reply: GatewayReply): void {
    reply.hijack(); // The answer streams straight to the client's connection.
    this.backend.answer(request.exchange);
  }
}
