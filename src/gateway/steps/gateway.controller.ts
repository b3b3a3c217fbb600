/**
 * The request path as a Nest controller, for requests that the fast path does not handle: HTTP/1.0, and paths that are
 * not of the API. Each guard runs one step of `src/admission/steps.ts`; read that file first.
 */
import { All, Controller, Req, Res, UseGuards } from '@nestjs/common';
import { Backend } from './backend.js';
import type { GatewayReply, GatewayRequest } from '../request/exchange.js';
import { STEP_GUARDS } from './step-guards.js';

@Controller()
@UseGuards(...STEP_GUARDS)
export class GatewayController {
  constructor(private readonly backend: Backend) {}

  /** Forwards a request to the backend. Responds with 413, 502, 503, 504 or the backend's response. */
  @All('*')
  forward(@Req() request: GatewayRequest, @Res() reply: GatewayReply): void {
    reply.hijack(); // The response streams directly to the client's connection.
    this.backend.forward(request.exchange);
  }
}
