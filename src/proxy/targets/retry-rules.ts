/** Rules for retries (RFC 9110 section 9.2.2). Pure functions, so that they can be read and tested as a table. */
import { Problem } from '../../platform/problems/errors.js';
import { DO_NOT_RETRY } from '../../platform/problems/retry-after.js';
import type { UpstreamOutcome } from './upstream-errors.js';

const IDEMPOTENT = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'QUERY']);

/** Statuses that leave open whether the backend carried out the request. */
const UNSURE = new Set([500, 502, 504]);

/**
 * Adds a do-not-retry header to a problem after the request was sent. Client libraries must not repeat a request that
 * may have been carried out, such as an order or a payment.
 */
export function withoutAutomaticRetry(problem: Problem, method: string): Problem {
  if (isRepeatable(method) || !UNSURE.has(problem.status)) return problem;
  const headers = [...(problem.options.headers ?? []), ...DO_NOT_RETRY];
  return new Problem(problem.code, { ...problem.options, headers });
}

/** Probe failures that are hidden from the caller: status 502 to 504, or no response in time. */
const PROBE_OUTCOMES: ReadonlySet<UpstreamOutcome> = new Set(['answered', 'first_byte_timeout']);

/** Failures before a connection was open, after which another target may be tried. */
const UNSENT_OUTCOMES: ReadonlySet<UpstreamOutcome> = new Set([
  'unreachable',
  'connect_timeout',
  'reset',
  'out_of_ports',
]);

/** Reports whether a method is safe to repeat without a body. */
export function isRepeatable(method: string | undefined): boolean {
  return method !== undefined && IDEMPOTENT.has(method);
}

/**
 * Reports whether a call that failed before any response byte may be retried.
 * @param wasOpened whether the call was on a connection. If not, nothing was sent and any method may be retried.
 * @param repeatable see `isRepeatable`.
 * @param isSpare whether it was a probe while other targets were in service.
 * @param wasEnded whether the gateway aborted it: timeout, target out of service, or client disconnected.
 */
export function mayRetry(
  outcome: UpstreamOutcome,
  wasOpened: boolean,
  repeatable: boolean,
  isSpare: boolean,
  wasEnded: boolean,
): boolean {
  // Moved before its connection was open: any method may be retried. After other aborts nobody waits for a retry.
  if (wasEnded && !wasOpened) return outcome === 'moved';
  if (wasEnded) return repeatable && (outcome === 'moved' || (isSpare && PROBE_OUTCOMES.has(outcome)));
  // A retry would hit the same resource limit. After a probe, another target may have an open connection.
  if (!wasOpened) return UNSENT_OUTCOMES.has(outcome) || (isSpare && outcome === 'out_of_resources');
  return repeatable && (outcome === 'reset' || outcome === 'bad_response');
}
