/**
 * Computes the time of the next attempt from a list of pauses. Adds jitter, so that deliveries that failed at the same
 * time are not retried at the same time.
 */

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** Default pauses before the second and later attempts. Ten attempts in 75 hours, as in Standard Webhooks 1.0. */
export const USUAL_RETRY_SCHEDULE_MS: readonly number[] = [
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  14 * HOUR_MS,
  20 * HOUR_MS,
  24 * HOUR_MS,
];

/** Limits for an endpoint's own schedule. An empty schedule means a single attempt. */
export const MAX_RETRIES = 20;
export const SHORTEST_PAUSE_MS = SECOND_MS;
export const LONGEST_PAUSE_MS = 24 * HOUR_MS;
export const LONGEST_SCHEDULE_MS = 7 * 24 * HOUR_MS;

/** Maximum share by which a pause is shortened or extended at random. */
const JITTER = 0.1;

/** Longest possible time from now to a retry. A clock that was ahead wrote any later due time. */
export const LATEST_RETRY_MS = LONGEST_PAUSE_MS * (1 + JITTER);

/** Input for `nextAttemptMs`. */
export interface FailedAttempt {
  readonly scheduleMs: readonly number[];
  /** Number of attempts so far, including the failed one; at least 1. */
  readonly attempts: number;
  readonly nowMs: number;
  /** The receiver's `Retry-After`, which is the minimum for the pause, up to `LONGEST_PAUSE_MS`. */
  readonly retryAfterMs?: number | undefined;
  /** Returns a random number from 0 to below 1. */
  readonly random: () => number;
}

/** Returns the due time of the next attempt, or undefined if the failed attempt was the last one. */
export function nextAttemptMs(attempt: FailedAttempt): number | undefined {
  const { scheduleMs, attempts, nowMs, retryAfterMs: asked = 0, random } = attempt;
  const pauseMs = scheduleMs[attempts - 1];
  if (pauseMs === undefined) return undefined;
  const spreadMs = pauseMs * (1 - JITTER + 2 * JITTER * random());
  // Jitter only extends the pause that the receiver requested.
  const askedMs = Math.min(asked, LONGEST_PAUSE_MS) * (1 + JITTER * random());
  return nowMs + Math.round(Math.max(spreadMs, askedMs));
}
