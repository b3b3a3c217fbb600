/** Intervals of the delivery worker. Tests use shorter intervals. */

/** WorkerTimes holds the intervals, in milliseconds. */
export interface WorkerTimes {
  /** Interval at which the worker claims all due lanes. */
  readonly claimMs: number;
  /** Interval at which the worker claims all due lanes while no notifications from other processes arrive. */
  readonly claimWithoutNotificationsMs: number;
  /** Interval at which leases are renewed. */
  readonly renewMs: number;
  /** Time without a successful renewal after which the worker drops its lanes. Shorter than a lease. */
  readonly leasePatienceMs: number;
  /** Interval at which the worker scans for lanes with lost notifications. */
  readonly scanMs: number;
  /** Maximum jitter of the scan interval, in either direction. */
  readonly scanSpreadMs: number;
  /** Interval at which the endpoints of all held lanes are reloaded. */
  readonly refreshMs: number;
  /**
   * Time for which a worker keeps an idle lane. A short time costs more claims, each with several statements. With a
   * long time, more lanes must wait until their leases expire if a worker hangs.
   */
  readonly lingerMs: number;
  /** Interval at which the worker looks for idle lanes and releases them. */
  readonly releaseMs: number;
  /** Pause before a released lane is checked again for events that were being committed meanwhile. */
  readonly recheckMs: number;
  /** Interval at which failing endpoints are checked. */
  readonly checkMs: number;
  /** Interval at which long attempts move to the slow slots while quick lanes wait for a slot. */
  readonly makeRoomMs: number;
}

/** Intervals for production. */
export const WORKER_TIMES: WorkerTimes = {
  claimMs: 1_000,
  claimWithoutNotificationsMs: 500,
  renewMs: 10_000,
  leasePatienceMs: 20_000,
  scanMs: 10_000,
  scanSpreadMs: 2_000,
  refreshMs: 5_000,
  lingerMs: 10_000,
  releaseMs: 500,
  recheckMs: 1_000,
  checkMs: 1_000,
  makeRoomMs: 100,
};
