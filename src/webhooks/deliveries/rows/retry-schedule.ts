/**
 * Computes the time of the next attempt from a list of pauses, with jitter so that deliveries that failed together are
 * spread.
 */

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** Pauses before the second and later attempts: ten attempts in 75 hours, as Standard Webhooks 1.0 suggests. */
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

/** Limits for an endpoint's own schedule. An empty one means a single attempt. */
export const MOST_RETRIES = 20;
export const SHORTEST_PAUSE_MS = SECOND_MS;
export const LONGEST_PAUSE_MS = 24 * HOUR_MS;
export const LONGEST_SCHEDULE_MS = 7 * 24 * HOUR_MS;

/** Share by which a pause varies in either direction. */
const JITTER = 0.1;

/** Latest possible due time of a retry, from now. A later one was written by a clock that ran ahead and is due now. */
export const LATEST_RETRY_MS = LONGEST_PAUSE_MS * (1 + JITTER);

/** Input for `nextAttemptMs`. */
export interface FailedAttempt {
  readonly scheduleMs: readonly number[];
  /** Attempts so far including this one; at least 1. */
  readonly attempts: number;
  readonly nowMs: number;
  /** The receiver's `Retry-After`, a minimum for the pause. Capped at the longest pause. */
  readonly retryAfterMs?: number | undefined;
  /** Random number in [0, 1). */
  readonly random: () => number;
}

/** Returns the due time of the next attempt, or undefined after the last one. */
export function nextAttemptMs(attempt: FailedAttempt): number | undefined {
  const { scheduleMs, attempts, nowMs, retryAfterMs: asked = 0, random } = attempt;
  const pauseMs = scheduleMs[attempts - 1];
  if (pauseMs === undefined) return undefined;
  const spreadMs = pauseMs * (1 - JITTER + 2 * JITTER * random());
  // At least the requested pause, with jitter on top.
  const askedMs = Math.min(asked, LONGEST_PAUSE_MS) * (1 + JITTER * random());
  return nowMs + Math.round(Math.max(spreadMs, askedMs));
}
