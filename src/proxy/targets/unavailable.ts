/**
 * What a caller is told whose request failed on its way, or was not sent: nothing to send it to, no
 * room, too many of its own under way.
 */
import { Problem } from '../../platform/problems/errors.js';
import { retryFields } from '../../platform/problems/retry-after.js';
import { failureDetail, type UpstreamFailure } from './upstream-errors.js';

/** A call failed. @param cause for the log. */
export function failedProblem(failure: UpstreamFailure, cause: unknown): Problem {
  const detail = failureDetail(failure);
  // The log has one line for many of these, see `Shortages`: with a cause each would be one.
  if (failure.code === 'gateway_overloaded') return new Problem(failure.code, { detail, headers: retryFields(0) });
  return new Problem(failure.code, { detail, cause });
}

/** No target is in service. @param retryAfterMs when there is a chance again at the earliest. */
export function outOfService(retryAfterMs: number): Problem {
  return new Problem('backend_unavailable', {
    detail: 'The service behind this API is unavailable at the moment. Nothing was sent to it; try again later.',
    headers: retryFields(retryAfterMs),
  });
}

/** Every connection is busy, and no more may wait or wait longer. */
export function noRoom(): Problem {
  return new Problem('backend_unavailable', {
    detail: 'The service behind this API has no room at the moment. Nothing was sent to it; try again later.',
    headers: retryFields(0),
  });
}

export function tooManyAtOnce(): Problem {
  return new Problem('too_many_concurrent_requests', {
    detail: 'This account has as many requests under way as it may have at a time. Wait for some of them to end.',
    headers: retryFields(0),
  });
}
