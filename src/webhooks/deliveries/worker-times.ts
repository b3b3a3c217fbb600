/** Intervals of the webhook worker. Tests that wait for them pass shorter ones. */

/** WorkerTimes holds the intervals, in milliseconds. */
export interface WorkerTimes {
  /** Pause between two looks for all lanes that are due. */
  readonly lookMs: number;
  /** The same pause while the worker gets no notifications from other processes. */
  readonly deafLookMs: number;
  readonly renewMs: number;
  /** The worker drops lanes whose leases it could not renew for this long, before they expire. */
  readonly leasePatienceMs: number;
  readonly scanMs: number;
  /** Each scan comes up to this much earlier or later. */
  readonly scanSpreadMs: number;
  /** Pause between two reads of all endpoints in hand. */
  readonly refreshMs: number;
  /**
   * How long a worker keeps a lane without work. Taking a lane costs several statements. A longer time lets more lanes
   * wait for a lease to expire when their worker hangs.
   */
  readonly lingerMs: number;
  /** Pause between two looks for lanes to release. */
  readonly sleepMs: number;
  /** Pause before a released lane is checked again for events that were being committed meanwhile. */
  readonly secondLookMs: number;
  /** Pause between two checks of endpoints whose attempts have failed. */
  readonly checkMs: number;
  /** While quick lanes wait for a slot, attempts that take long move to the slow slots this often. */
  readonly makeRoomMs: number;
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
  checkMs: 1_000,
  makeRoomMs: 100,
};
