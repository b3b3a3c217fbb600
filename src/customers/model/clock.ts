/** Clock tells the time to the customers backend, which shares no code with the gateway. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };
