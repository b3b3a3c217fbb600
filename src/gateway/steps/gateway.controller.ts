/**
 * Implements the request path as a Nest controller, for requests that the fast path does not serve: HTTP/1.0 requests,
 * and paths outside the API. Each guard runs one step of `src/admission/steps.ts`. Read that file first.
 */
import { All, Controller, Req, Res, UseGuards } from '@nestjs/common';
import { Backend } from './backend.js';
import type { GatewayReply, GatewayRequest } from '../request/exchange.js';
import { STEP_GUARDS } from './step-guards.js';

@Controller()
@UseGuards(...STEP_GUARDS)
export class GatewayController {
  constructor(private readonly backend: Backend) {}

  /** Forwards a request to its backend. The client receives the backend's response, or a 413, 502, 503 or 504. */
  @All('*')
  forward(@Req() request: GatewayRequest, @Res() reply: GatewayReply): void {
    reply.hijack(); // The response streams directly to the client's connection.
    this.backend.forward(request.exchange);
  }
}
