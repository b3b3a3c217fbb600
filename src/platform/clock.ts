/** The one place that time comes from, so that tests can turn it. */
export interface Clock {
  /** Wall-clock time in milliseconds since the Unix epoch; may jump when the machine's clock is set. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };
