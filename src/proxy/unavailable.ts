/** What a caller is told whose request was not sent: nothing to send it to, no room, or too many of its own under way. */
import { Problem } from '../errors.js';

/** No target is in service. @param retryAfterMs when there is a chance again; told in whole seconds, at least one. */
export function outOfService(retryAfterMs: number): Problem {
  return new Problem('backend_unavailable', {
    detail: 'The service behind this API is unavailable at the moment. Nothing was sent to it; try again later.',
    headers: ['Retry-After', String(Math.max(1, Math.ceil(retryAfterMs / 1_000)))],
  });
}

/** Every connection is busy, and no more may wait or wait longer. */
export function noRoom(): Problem {
  return new Problem('backend_unavailable', {
    detail: 'The service behind this API has no room at the moment. Nothing was sent to it; try again later.',
    headers: ['Retry-After', '1'],
  });
}

export function tooManyAtOnce(): Problem {
  return new Problem('too_many_concurrent_requests', {
    detail: 'This account has as many requests under way as it may have at a time. Wait for some of them to end.',
    headers: ['Retry-After', '1'],
  });
}
