/** Sends the errors of the admin application as problem documents (RFC 9457). Logs errors with status 500 and above. */
import { Catch, HttpException, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { DatabaseUnavailable } from '../stores/database/database-errors.js';
import type { ErrorPages } from '../platform/problems/error-pages.js';
import { Problem, PROBLEM_CONTENT_TYPE, type ErrorCode } from '../platform/problems/errors.js';
import { problemBody } from '../platform/problems/problem-body.js';
import type { Logger } from '../platform/log.js';

/** AllowedMethods returns the HTTP methods that a path supports. The list is empty if no route matches the path. */
export type AllowedMethods = (path: string) => readonly string[];

/**
 * Code and detail for errors of Fastify and Nest, by status. These texts replace the original messages, which can
 * repeat input.
 */
const PROBLEMS_BY_STATUS: ReadonlyMap<number, readonly [ErrorCode, string]> = new Map([
  [400, ['bad_request', 'Malformed request. The body must be one JSON object.']],
  [408, ['request_timeout', 'The request did not arrive in time.']],
  [413, ['content_too_large', 'The body exceeds the size limit of this API.']],
  [414, ['uri_too_long', 'The URL exceeds the length limit of this API.']],
  [415, ['unsupported_media_type', 'Send the body as JSON, with Content-Type: application/json.']],
]);

const RETRY_AFTER_SECONDS = '2';

/**
 * Converts a thrown value to a problem, and returns a `Problem` unchanged. Other errors with a 4xx status get a fixed
 * text. A `DatabaseUnavailable` error becomes `database_unavailable`, and any other value `internal_error`.
 */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof DatabaseUnavailable) {
    return new Problem('database_unavailable', {
      detail: 'The database is unavailable. A change may not have been saved. Try again.',
      headers: ['Retry-After', RETRY_AFTER_SECONDS],
      cause: error,
    });
  }
  const status = statusOf(error);
  const known =
    PROBLEMS_BY_STATUS.get(status) ?? (status >= 400 && status < 500 ? PROBLEMS_BY_STATUS.get(400) : undefined);
  if (known === undefined) return new Problem('internal_error', { cause: error });
  return new Problem(known[0], { detail: known[1], cause: error });
}

function statusOf(error: unknown): number {
  if (error instanceof HttpException) return error.getStatus();
  if (typeof error !== 'object' || error === null || !('statusCode' in error)) return 500;
  return typeof error.statusCode === 'number' ? error.statusCode : 500;
}

/**
 * Sends a problem document. The server also calls `sendProblem` for requests that Fastify rejects before any filter
 * runs.
 */
export function sendProblem(problem: Problem, request: FastifyRequest, reply: FastifyReply, pages: ErrorPages): void {
  const headers = problem.options.headers ?? [];
  for (let index = 0; index + 1 < headers.length; index += 2) reply.header(headers[index] ?? '', headers[index + 1]);
  void reply
    .header('X-Request-Id', request.id)
    .header('Cache-Control', 'no-store')
    .type(PROBLEM_CONTENT_TYPE)
    .status(problem.status)
    .send(problemBody(problem, request.id, pages));
}

/** ProblemFilter responds to every error that a guard, pipe or handler throws, and logs responses of 500 and above. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(
    private readonly log: Logger,
    private readonly pages: ErrorPages,
    private readonly allowedMethods: AllowedMethods,
  ) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const reply = http.getResponse<FastifyReply>();
    // Handlers throw a `Problem` for missing resources. Nest throws its own 404 only if no route matches.
    const status = error instanceof HttpException ? error.getStatus() : undefined;
    const problem =
      status === 404
        ? noRoute(request, this.allowedMethods)
        : status === 429
          ? tooManyRequests(reply)
          : problemOf(error);
    if (problem.status >= 500) {
      const cause = problem.cause ?? error;
      this.log.error(
        { event: 'admin_request_failed', err: cause, request_id: request.id, code: problem.code },
        'admin request failed',
      );
    }
    if (reply.sent) return;
    sendProblem(problem, request, reply, this.pages);
  }
}

/** Returns the problem for an unknown path (404) or an unsupported method (405). */
export function noRoute(request: FastifyRequest, allowedMethods: AllowedMethods): Problem {
  const allowed = allowedMethods(request.url.split('?', 1)[0] ?? '');
  if (allowed.length === 0) return new Problem('route_not_found', { detail: 'This path does not exist.' });
  const methods = allowed.join(', ');
  return new Problem('method_not_allowed', {
    detail: `This path supports ${methods}.`,
    headers: ['Allow', methods],
  });
}

/** Returns the problem for the throttler's 429. The throttler guard has already set `Retry-After`, in seconds. */
function tooManyRequests(reply: FastifyReply): Problem {
  const seconds = String(reply.getHeader('Retry-After') ?? RETRY_AFTER_SECONDS);
  return new Problem('too_many_requests', {
    detail: `Too many requests. Wait ${seconds} seconds.`,
    headers: ['Retry-After', seconds],
  });
}
