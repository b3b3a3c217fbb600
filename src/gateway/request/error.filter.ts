/**
 * Converts refusals and thrown errors to problem responses (RFC 9457). Logs unexpected errors, and responds to them
 * with a 500 without details.
 */
import { Catch, HttpException, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { ErrorPages } from '../../platform/problems/error-pages.js';
import { Problem, type ErrorCode } from '../../platform/problems/errors.js';
import type { Logger } from '../../platform/log.js';
import { routeProblem } from '../../proxy/routing/route-problem.js';
import { exchangeOf, type Exchange, type GatewayReply } from './exchange.js';
import type { Routes } from '../../admission/routes.js';
import { writeProblem } from './write-problem.js';

/** Problem codes for the errors that Fastify and Nest throw, by status. */
const FRAMEWORK_CODES: Readonly<Record<number, ErrorCode>> = {
  400: 'bad_request',
  408: 'request_timeout',
  413: 'content_too_large',
  414: 'uri_too_long',
  415: 'unsupported_media_type',
  431: 'headers_too_large',
  503: 'shutting_down',
};

@Catch()
export class ErrorFilter implements ExceptionFilter {
  constructor(
    private readonly routes: Routes,
    private readonly pages: ErrorPages,
    private readonly log: Logger,
  ) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const reply = host.getArgByIndex<GatewayReply>(1);
    reply.hijack();
    this.respond(error, exchangeOf(reply.raw));
  }

  /**
   * Responds with the refusal of a step, or with a thrown error. If writing the response fails, closes the connection.
   */
  respond(error: unknown, exchange: Exchange): void {
    // Release the claim of the idempotency key, unless a backend call is responsible for it. The client can then retry
    // with the same key.
    if (exchange.keyed?.isReplay === false) exchange.keyed.releaseIfUnowned();
    const problem = exchange.refusal ?? (error instanceof Problem ? error : this.translate(error, exchange));
    if (problem.status >= 500 && problem.cause !== undefined) {
      this.log.warn(
        { event: 'request_failed', ...idsOf(exchange), code: problem.code, err: problem.cause },
        'A request could not be served',
      );
    }
    try {
      writeProblem(exchange, problem, this.pages);
    } catch (failure) {
      // No other code would end the request.
      this.log.error({ event: 'internal_error', ...idsOf(exchange), err: failure }, 'An unexpected error');
      exchange.response.destroy();
    }
  }

  /** Returns the problem for an error that is not a `Problem`. Logs errors that are unexpected. */
  private translate(error: unknown, exchange: Exchange): Problem {
    const status = error instanceof HttpException ? error.getStatus() : statusOf(error);
    if (status === 404 || status === 405) {
      // Fastify has no route for this method. The routes of the APIs decide between 404 and 405.
      const match = this.routes.match(exchange.method, exchange.path, exchange.message);
      return match.kind === 'operation' ? new Problem('route_not_found') : routeProblem(match, exchange.path);
    }
    const match = status === 400 ? this.routes.match(exchange.method, exchange.path, exchange.message) : undefined;
    // Fastify's router rejects an invalid path before the route step.
    if (match?.kind === 'invalid_path') return routeProblem(match, exchange.path);
    const code = status === undefined ? undefined : FRAMEWORK_CODES[status];
    if (code !== undefined) return new Problem(code, { cause: error });
    this.log.error({ event: 'internal_error', ...idsOf(exchange), err: error }, 'An unexpected error');
    return new Problem('internal_error', {
      detail: 'An unexpected error occurred on the server. Include the request ID when you report it.',
    });
  }
}

/** Returns the request ID, and the trace ID if there is one, for log lines. */
function idsOf({ requestId, traceId }: Exchange): object {
  return traceId === '' ? { request_id: requestId } : { request_id: requestId, trace_id: traceId };
}

/** Returns the status of a Fastify error. Returns undefined for any other error. */
function statusOf(error: unknown): number | undefined {
  const status = error instanceof Error ? (error as Error & { statusCode?: unknown }).statusCode : undefined;
  return typeof status === 'number' ? status : undefined;
}
