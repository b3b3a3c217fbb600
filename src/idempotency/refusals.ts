/** Creates the error responses for requests with an `Idempotency-Key` that the gateway refuses. */
import { FixedProblem, Problem } from '../platform/problems/errors.js';
import { DO_NOT_RETRY, retryFields } from '../platform/problems/retry-after.js';

/** Creates the 409 for a retry that arrives while the first request is in progress. */
export function inProgress(): Problem {
  return new Problem('idempotency_in_progress', {
    detail: 'The request with this Idempotency-Key is still in progress. Send it again later to get its result.',
    isPlain: true,
    headers: retryFields(1_000),
  });
}

/** Error 422 for a key that the client has used for a different request. */
export const MISMATCH = new FixedProblem('idempotency_mismatch', {
  detail:
    'This Idempotency-Key was sent with another request before: method, path, query, Content-Type or body differ. ' +
    'Use a new key for each new request.',
  headers: DO_NOT_RETRY,
});

/** Error 409 for a retry of a request that may or may not have been carried out. */
export const OUTCOME_UNKNOWN = new FixedProblem('idempotency_outcome_unknown', {
  detail:
    'The request with this Idempotency-Key was forwarded, and its result is unknown. It is not carried out again. ' +
    'Check whether it took effect, and send it with a new key if it did not.',
  headers: DO_NOT_RETRY,
});

/**
 * Creates the 409 for a retry of a request that was carried out, but whose response is not stored.
 * @param status status of the response to the first request.
 */
export function notStored(status: number): Problem {
  return new Problem('idempotency_not_stored', {
    detail:
      `The request with this Idempotency-Key was carried out and answered with ${status}. The response was not stored. ` +
      'It is not carried out again. Read what it created or changed.',
    isPlain: true,
    headers: DO_NOT_RETRY,
  });
}

/**
 * Creates the 503 for a request whose record cannot be claimed or read. The store fails or has no room, or this process
 * has too many open claims.
 * @param waitMs time in ms after which the client should retry.
 * @param cause error of the store, for the log.
 */
export function idempotencyUnavailable(waitMs: number, cause?: unknown): Problem {
  return new Problem('idempotency_unavailable', {
    detail: 'Idempotency keys cannot be looked up right now, so the request was not carried out. Try again.',
    isPlain: true,
    headers: retryFields(waitMs),
    ...(cause === undefined ? {} : { cause }),
  });
}

/**
 * Creates the 429 for an API key with too many requests that used no quota, such as retries.
 * @param waitMs time in ms after which the client may retry.
 */
export function tooManyRetries(waitMs: number): Problem {
  return new Problem('too_many_idempotent_retries', {
    detail: 'Too many requests with an Idempotency-Key were repeats, or were refused. Send fewer of them.',
    isPlain: true,
    headers: retryFields(waitMs),
  });
}
