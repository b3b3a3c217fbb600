/**
 * The request path as Nest's router knows it, for what comes through that: HTTP/1.0, unusual framing,
 * whatever is not below the base path. A guard asks each step of `src/admission/steps.ts`; read that first.
 */
import { All, Controller, Req, Res, UseGuards } from '@nestjs/common';
import { Backend } from './backend.js';
import type { GatewayReply, GatewayRequest } from '../request/exchange.js';
import { STEP_GUARDS } from './step-guards.js';

@Controller()
@UseGuards(...STEP_GUARDS)
export class GatewayController {
  constructor(private readonly backend: Backend) {}

  /** The operation's service answers: 413, 502, 503, 504 and whatever it says. */
  @All('*')
  forward(@Req() request: GatewayRequest, @Res() reply: GatewayReply): void {
    reply.hijack(); // The response streams straight to the client's connection.
    this.backend.forward(request.exchange);
  }
}
