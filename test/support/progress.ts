/** How far a run of the tests is, in words. */

/** Fewer files than these say nothing of the pace. */
const FILES_OF_A_PACE = 8;

/** `45 s`, or `2 min` where seconds do not matter any more. */
export function inWords(ms: number): string {
  return ms < 90_000 ? `${Math.round(ms / 1_000)} s` : `${Math.round(ms / 60_000)} min`;
}

export interface Progress {
  /** Test files that have ended, of `total` in this pass. */
  readonly done: number;
  readonly total: number;
  readonly failed: number;
  readonly goneMs: number;
}

/** One line of progress. The time left is reckoned from the pace of this run, so that it holds on a slow machine, too. */
export function progressLine({ done, total, failed, goneMs }: Progress): string {
  const leftMs = ((total - done) * goneMs) / done;
  const ahead = done < FILES_OF_A_PACE ? '' : `, about ${inWords(leftMs)} to go`;
  return `-- ${done} of ${total} files, ${failed} failed; ${inWords(goneMs)} gone${ahead}`;
}
