/** Creates the problems for backend calls that failed or were not sent. */
import { Problem } from '../../platform/problems/errors.js';
import { retryFields } from '../../platform/problems/retry-after.js';
import { failureDetail, type UpstreamFailure } from './upstream-errors.js';

/** Returns the problem for a failed call. @param cause error for the log. */
export function failedProblem(failure: UpstreamFailure, cause: unknown): Problem {
  const detail = failureDetail(failure);
  // `SHORTAGES` logs a summary of these failures. With a cause, each failure would add a log line.
  if (failure.code === 'gateway_overloaded') return new Problem(failure.code, { detail, headers: retryFields(0) });
  return new Problem(failure.code, { detail, cause });
}

/**
 * Returns the problem for a call while no target is in service. @param retryAfterMs time until a retry can succeed at
 * the earliest.
 */
export function noTargetProblem(retryAfterMs: number): Problem {
  return new Problem('backend_unavailable', {
    detail: 'The service behind this API is temporarily unavailable. The request was not sent to it. Try again later.',
    headers: retryFields(retryAfterMs),
  });
}

/** Returns the problem for a call while all connections are busy, if the queue is full or the wait was too long. */
export function capacityProblem(): Problem {
  return new Problem('backend_unavailable', {
    detail: 'The service behind this API is at capacity. The request was not sent to it. Try again later.',
    headers: retryFields(0),
  });
}

/** Returns the problem for a call of an account that has used its share of the service (`accountShare`). */
export function concurrencyProblem(): Problem {
  return new Problem('too_many_concurrent_requests', {
    detail: 'This account has reached its limit of concurrent requests. Wait until some of them have finished.',
    headers: retryFields(0),
  });
}
