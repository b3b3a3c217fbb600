/** Formats the progress of a test run. */

/** Number of finished files from which the remaining time is estimated. */
const FILES_OF_A_PACE = 8;

/** Formats a duration, such as `45 s`, or `2 min` from 90 seconds on. */
export function inWords(ms: number): string {
  return ms < 90_000 ? `${Math.round(ms / 1_000)} s` : `${Math.round(ms / 60_000)} min`;
}

export interface Progress {
  /** Number of test files that have ended, out of `total`. */
  readonly done: number;
  readonly total: number;
  readonly failed: number;
  /** Elapsed time. */
  readonly goneMs: number;
}

/** Returns one line of progress. It estimates the remaining time from the pace of this run so far. */
export function progressLine({ done, total, failed, goneMs }: Progress): string {
  const leftMs = ((total - done) * goneMs) / done;
  const ahead = done < FILES_OF_A_PACE ? '' : `, about ${inWords(leftMs)} to go`;
  return `-- ${done} of ${total} files, ${failed} failed; ${inWords(goneMs)} gone${ahead}`;
}
