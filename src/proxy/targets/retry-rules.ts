/**
 * What may be sent a second time (RFC 9110 section 9.2.2): pure rules, so that they can be read and tested as a table.
 */
import { Problem } from '../../platform/problems/errors.js';
import { DO_NOT_RETRY } from '../../platform/problems/retry-after.js';
import type { UpstreamOutcome } from './upstream-errors.js';

const IDEMPOTENT = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'QUERY']);

/** Statuses that say nothing of whether a backend did what was asked. */
const UNSURE = new Set([500, 502, 504]);

/**
 * What a caller is told whose request stood on a connection to a backend. One that would do the same once more, and may
 * have been done, is not to be sent again by a library on its own: it would be the second order, the second payment.
 */
export function toldAfterSending(problem: Problem, method: string): Problem {
  if (isRepeatable(method) || !UNSURE.has(problem.status)) return problem;
  const headers = [...(problem.options.headers ?? []), ...DO_NOT_RETRY];
  return new Problem(problem.code, { ...problem.options, headers });
}

/** How a probe ends that its caller need not hear of: with 502, 503 or 504, or too late. */
const PROBE_OUTCOMES: ReadonlySet<UpstreamOutcome> = new Set(['answered', 'first_byte_timeout']);

/** How a call ends that never stood on a connection, and may stand on one to another target. */
const UNSENT_OUTCOMES: ReadonlySet<UpstreamOutcome> = new Set([
  'unreachable',
  'connect_timeout',
  'reset',
  'out_of_ports',
]);

/** Whether a request without a body may be sent twice. */
export function isRepeatable(method: string | undefined): boolean {
  return method !== undefined && IDEMPOTENT.has(method);
}

/**
 * Whether a call that failed before a byte of a response may be sent again.
 * @param wasOpened it stood on a connection; else nothing of it has left this process, and any method may go elsewhere.
 * @param repeatable see `isRepeatable`.
 * @param isSpare it was the probe of an ejected target, while others are in service.
 * @param wasEnded we ended it ourselves: its time was over, its target went out of service, or its client has gone.
 */
export function mayRetry(
  outcome: UpstreamOutcome,
  wasOpened: boolean,
  repeatable: boolean,
  isSpare: boolean,
  wasEnded: boolean,
): boolean {
  // Moved while its connection was still opening: any method may go elsewhere. Else whoever ended it then wants no
  // other one.
  if (wasEnded && !wasOpened) return outcome === 'moved';
  if (wasEnded) return repeatable && (outcome === 'moved' || (isSpare && PROBE_OUTCOMES.has(outcome)));
  // What we have run out of, a retry would run out of too; but a probe was our choice, and elsewhere a connection may
  // be open.
  if (!wasOpened) return UNSENT_OUTCOMES.has(outcome) || (isSpare && outcome === 'out_of_resources');
  return repeatable && (outcome === 'reset' || outcome === 'bad_response');
}
