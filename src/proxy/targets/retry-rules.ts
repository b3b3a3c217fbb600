/** Decides which calls the gateway, or a client, may retry (RFC 9110 section 9.2.2). */
import { Problem } from '../../platform/problems/errors.js';
import { DO_NOT_RETRY } from '../../platform/problems/retry-after.js';
import type { UpstreamOutcome } from './upstream-errors.js';

const IDEMPOTENT = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'QUERY']);

/** Status codes that do not tell whether the backend carried out the request. */
const UNCLEAR_STATUSES = new Set([500, 502, 504]);

/**
 * Adds a header field that prevents automatic retries by client libraries. Adds the field only if the method is not
 * idempotent, and the status does not tell whether the backend carried out the request. Call this only for requests
 * that were sent.
 */
export function withoutAutomaticRetry(problem: Problem, method: string): Problem {
  if (isRepeatable(method) || !UNCLEAR_STATUSES.has(problem.status)) return problem;
  const headers = [...(problem.options.headers ?? []), ...DO_NOT_RETRY];
  return new Problem(problem.code, { ...problem.options, headers });
}

/**
 * Outcomes after which the gateway retries a failed probe, so that callers do not see the failure: status 502 to 504,
 * or a timeout.
 */
const PROBE_OUTCOMES: ReadonlySet<UpstreamOutcome> = new Set(['answered', 'first_byte_timeout']);

/** Outcomes before a connection was open, after which any request may be sent to another target. */
const UNSENT_OUTCOMES: ReadonlySet<UpstreamOutcome> = new Set([
  'unreachable',
  'connect_timeout',
  'reset',
  'out_of_ports',
]);

/** Reports whether a method is idempotent, so that a request without a body can be repeated. */
export function isRepeatable(method: string | undefined): boolean {
  return method !== undefined && IDEMPOTENT.has(method);
}

/**
 * Reports whether a call that failed before any response byte may be retried.
 * @param wasConnected whether a connection had the call. If not, nothing was sent, and any method may be retried.
 * @param repeatable whether the request is safe to repeat.
 * @param isSpareProbe whether the call was a probe while other targets were in service.
 * @param wasAborted whether the gateway aborted the call: timeout, target out of service, or client disconnected.
 */
export function mayRetry(
  outcome: UpstreamOutcome,
  wasConnected: boolean,
  repeatable: boolean,
  isSpareProbe: boolean,
  wasAborted: boolean,
): boolean {
  // If the call was moved before its connection was open, any method may be retried. Other aborts are final.
  if (wasAborted && !wasConnected) return outcome === 'moved';
  if (wasAborted) return repeatable && (outcome === 'moved' || (isSpareProbe && PROBE_OUTCOMES.has(outcome)));
  // After `out_of_resources`, a new connection would fail, too. But after a probe, another target may have an open
  // connection.
  if (!wasConnected) return UNSENT_OUTCOMES.has(outcome) || (isSpareProbe && outcome === 'out_of_resources');
  return repeatable && (outcome === 'reset' || outcome === 'bad_response');
}
