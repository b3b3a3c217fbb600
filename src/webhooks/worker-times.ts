/** Intervals of the webhook worker. A test that waits for them has shorter ones. */

/** All in milliseconds. */
export interface WorkerTimes {
  /** Pause between two looks for all lanes that are due. */
  readonly lookMs: number;
  /** The same while nothing tells the worker what other processes write. */
  readonly deafLookMs: number;
  readonly renewMs: number;
  /** Leases that could not be renewed for so long are let go of: before they end, and others begin. */
  readonly leasePatienceMs: number;
  readonly scanMs: number;
  /** Each scan comes earlier or later by up to so much. */
  readonly scanSpreadMs: number;
  /** Pause between two reads of all endpoints in hand. */
  readonly refreshMs: number;
  /**
   * A lane without work stays its owner's for so long: to be taken up by the next event costs several statements, and
   * time. Longer, and more of them wait for a lease where their owner hangs.
   */
  readonly lingerMs: number;
  /** Pause between two looks for lanes to let go of. */
  readonly sleepMs: number;
  /** What was being committed while a lane was put to sleep is there by then. */
  readonly secondLookMs: number;
  /** Pause between two looks at endpoints whose attempts have failed. */
  readonly judgeMs: number;
}

export const WORKER_TIMES: WorkerTimes = {
  lookMs: 1_000,
  deafLookMs: 500,
  renewMs: 10_000,
  leasePatienceMs: 20_000,
  scanMs: 10_000,
  scanSpreadMs: 2_000,
  refreshMs: 5_000,
  lingerMs: 10_000,
  sleepMs: 500,
  secondLookMs: 1_000,
  judgeMs: 1_000,
};
