/** Intervals of the webhook worker. Tests that wait for them pass shorter ones. */

/** WorkerTimes holds the intervals, in milliseconds. */
export interface WorkerTimes {
  /** Interval at which the worker looks for due lanes. */
  readonly lookMs: number;
  /** The same interval while the worker gets no notifications from other processes. */
  readonly deafLookMs: number;
  readonly renewMs: number;
  /** The worker drops its lanes after this time without a successful renewal, before the leases expire. */
  readonly leasePatienceMs: number;
  readonly scanMs: number;
  /** Jitter of the scan interval, in either direction. */
  readonly scanSpreadMs: number;
  /** Interval at which all held endpoints are reloaded. */
  readonly refreshMs: number;
  /**
   * How long a worker keeps an idle lane. Claiming a lane costs several statements. With a longer time, more lanes wait
   * for a lease to expire if their worker hangs.
   */
  readonly lingerMs: number;
  /** Interval at which idle lanes are released. */
  readonly sleepMs: number;
  /** Pause before a released lane is checked again for events that were being committed meanwhile. */
  readonly secondLookMs: number;
  /** Interval at which failing endpoints are checked. */
  readonly checkMs: number;
  /** Interval at which long attempts move to the slow slots while quick lanes wait for a slot. */
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
