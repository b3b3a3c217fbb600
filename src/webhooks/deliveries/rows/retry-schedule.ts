/** When a delivery is attempted again: a list of pauses, spread so that those that failed together come back apart. */

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** Before the second, third … attempt: ten attempts in 75 hours, as Standard Webhooks 1.0 proposes. */
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

/** Bounds of a schedule that an endpoint brings. An empty one is one attempt and no more. */
export const MOST_RETRIES = 20;
export const SHORTEST_PAUSE_MS = SECOND_MS;
export const LONGEST_PAUSE_MS = 24 * HOUR_MS;
export const LONGEST_SCHEDULE_MS = 7 * 24 * HOUR_MS;

/** Of a pause, either way. */
const JITTER = 0.1;

/**
 * The latest that a retry can stand in the table from now: what is due later was written by a clock that ran ahead, and
 * is due now.
 */
export const LATEST_RETRY_MS = LONGEST_PAUSE_MS * (1 + JITTER);

/** What is asked of the schedule after an attempt that failed. */
export interface FailedAttempt {
  readonly scheduleMs: readonly number[];
  /** Attempts so far, this one too; from 1 on. */
  readonly attempts: number;
  readonly nowMs: number;
  /** What the receiver asked for. Waited for at least, as long as that is no longer than the longest pause. */
  readonly retryAfterMs?: number | undefined;
  /** From 0 on, below 1. */
  readonly random: () => number;
}

/** When the next attempt is due; undefined where there was the last one. */
export function nextAttemptMs(attempt: FailedAttempt): number | undefined {
  const { scheduleMs, attempts, nowMs, retryAfterMs: asked = 0, random } = attempt;
  const pauseMs = scheduleMs[attempts - 1];
  if (pauseMs === undefined) return undefined;
  const spreadMs = pauseMs * (1 - JITTER + 2 * JITTER * random());
  // Not before what was asked for, and not all at that instant.
  const askedMs = Math.min(asked, LONGEST_PAUSE_MS) * (1 + JITTER * random());
  return nowMs + Math.round(Math.max(spreadMs, askedMs));
}
