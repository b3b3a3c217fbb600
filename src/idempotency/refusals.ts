/** Why a request with an `Idempotency-Key` is neither carried out nor told again. */
import { FixedProblem, Problem } from '../platform/problems/errors.js';
import { DO_NOT_RETRY, retryFields } from '../platform/problems/retry-after.js';

/** The 409 of a request whose first attempt has not ended. */
export function inProgress(): Problem {
  return new Problem('idempotency_in_progress', {
    detail: 'The request with this Idempotency-Key is still under way. Send it again to hear what came of it.',
    isPlain: true,
    headers: retryFields(1_000),
  });
}

/** The 422 of a key that belongs to another request. */
export const MISMATCH = new FixedProblem('idempotency_mismatch', {
  detail:
    'This Idempotency-Key was sent with another request before: method, path, query, Content-Type or body differ. ' +
    'Take a new key for each new request.',
  headers: DO_NOT_RETRY,
});

/** The 409 of a request of which nobody knows whether it was carried out. */
export const OUTCOME_UNKNOWN = new FixedProblem('idempotency_outcome_unknown', {
  detail:
    'The request with this Idempotency-Key was sent, and nobody knows what came of it. It is not carried out again: ' +
    'look whether it had its effect, and if it had none, send it with a new key.',
  headers: DO_NOT_RETRY,
});

/** The 409 of a request that was carried out, and whose response was not kept. */
export function notStored(status: number): Problem {
  return new Problem('idempotency_not_stored', {
    detail:
      `The request with this Idempotency-Key was carried out and answered with ${status}. The response was not kept. ` +
      'It is not carried out again: read what it has made.',
    isPlain: true,
    headers: DO_NOT_RETRY,
  });
}

/** The 503 of a request whose key cannot be looked up. @param waitMs until it can be asked again, as far as known. */
export function unavailable(waitMs: number, cause?: unknown): Problem {
  return new Problem('idempotency_unavailable', {
    detail: 'Idempotency keys cannot be looked up right now, so the request was not carried out. Try again.',
    isPlain: true,
    headers: retryFields(waitMs),
    ...(cause === undefined ? {} : { cause }),
  });
}

/** The 429 of a key whose requests are repeated without end. */
export function tooManyRetries(waitMs: number): Problem {
  return new Problem('too_many_idempotent_retries', {
    detail: 'Too many requests with an Idempotency-Key were repetitions, or came to nothing. Send fewer of them.',
    isPlain: true,
    headers: retryFields(waitMs),
  });
}
