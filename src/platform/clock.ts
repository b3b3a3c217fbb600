/** Clock is a source of wall-clock time. Tests use their own. */
export interface Clock {
  /** Milliseconds since the Unix epoch. May jump when the machine's clock is set. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };
