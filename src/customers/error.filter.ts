/** Converts every error to a JSON response: errors of this backend, of Fastify and of Nest, and unexpected errors. */
import type { ArgumentsHost, ExceptionFilter } from '@nestjs/common';
import { Catch, HttpException } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { isUnavailable } from './database/database-errors.js';
import { RequestError } from './errors.js';

const RETRY_AFTER_SECONDS = 5;

/** ErrorFilter sends the response for an error. It also logs errors with a status of 500 or above. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  constructor(private readonly log: Logger) {}

  catch(exception: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const reply = http.getResponse<FastifyReply>();
    const error = toRequestError(exception);
    if (error.status >= 500) {
      this.log.error({ err: exception, request_id: request.headers['x-request-id'] }, error.message);
    }
    if (error.status === 503) reply.header('retry-after', RETRY_AFTER_SECONDS);
    void reply.status(error.status).send(error.body());
  }
}

/**
 * Converts any thrown value to an error for the caller. The caller sees only the messages of `RequestError`, never
 * those of other errors.
 */
export function toRequestError(exception: unknown): RequestError {
  if (exception instanceof RequestError) return exception;
  if (isUnavailable(exception)) {
    return new RequestError('database_unavailable', 'The database cannot be reached right now.');
  }
  const status = exception instanceof HttpException ? exception.getStatus() : statusOf(exception);
  switch (status) {
    case 404:
      return new RequestError('route_not_found', 'There is nothing at this path, or it does not support this method.');
    case 413:
      return new RequestError('body_too_large', 'The request body is larger than 100 KB.');
    case 415:
      return new RequestError('unsupported_media_type', 'Send the body as JSON, with Content-Type: application/json.');
    default:
      return status >= 400 && status < 500
        ? new RequestError('bad_request', 'The request could not be understood.')
        : new RequestError('internal_error', 'Something went wrong on our side.');
  }
}

/** Returns the status of a Fastify error, or 500 for any other value. */
function statusOf(exception: unknown): number {
  if (typeof exception !== 'object' || exception === null || !('statusCode' in exception)) return 500;
  return typeof exception.statusCode === 'number' ? exception.statusCode : 500;
}
