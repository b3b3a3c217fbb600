/**
 * The request path as Nest's router knows it, for what comes through that: HTTP/1.0, unusual framing,
 * whatever is not below the base path. The guards ask the steps of `src/admission/steps.ts`, in the order that stands
 * there; read that first.
 */
import { All, Controller, Req, Res, UseGuards } from '@nestjs/common';
import { ApiKeyGuard } from './api-key.guard.js';
import { Backend } from './backend.js';
import type { GatewayReply, GatewayRequest } from '../request/exchange.js';
import { IdempotencyGuard } from './idempotency.guard.js';
import { QuotaGuard } from './quota.guard.js';
import { RouteGuard } from './route.guard.js';
import { ScopeGuard } from './scope.guard.js';

@Controller()
@UseGuards(RouteGuard, ApiKeyGuard, ScopeGuard, IdempotencyGuard, QuotaGuard)
export class GatewayController {
  constructor(private readonly backend: Backend) {}

  /** The operation's service answers: 413, 502, 503, 504 and whatever it says. */
  @All('*')
  forward(@Req() request: GatewayRequest, @Res() reply: GatewayReply): void {
    reply.hijack(); // The response streams straight to the client's connection.
    this.backend.forward(request.exchange);
  }
}
