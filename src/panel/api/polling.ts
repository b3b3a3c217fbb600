/** How long a page waits before it reads again: its own interval, or what the server asked for after a 429. */
import { ApiProblem } from './problem.js';

const MINUTE_MS = 60_000;

type Interval<Data> = (query: Polled<Data>) => number | false;

interface Polled<Data> {
  readonly state: { readonly data: Data | undefined; readonly error: Error | null };
}

/** Returns how long the server wants no more requests, in ms; undefined where it has not said so. */
export function askedWaitMs(error: Error | null): number | undefined {
  if (!(error instanceof ApiProblem) || error.status !== 429) return undefined;
  return error.retryAfterSeconds === undefined ? MINUTE_MS : error.retryAfterSeconds * 1_000;
}

/**
 * Returns a `refetchInterval`. Every query that polls takes it from here; one that does not poll is read once more
 * after a 429.
 * @param every interval in ms, also by what was read last; false: does not poll.
 */
export function pollEvery(every: number | false): Interval<unknown>;
export function pollEvery<Data>(every: (data: Data | undefined) => number | false): Interval<Data>;
export function pollEvery<Data>(every: number | false | ((data: Data | undefined) => number | false)): Interval<Data> {
  return ({ state: { data, error } }) => {
    const usual = typeof every === 'function' ? every(data) : every;
    const wait = askedWaitMs(error);
    return wait === undefined ? usual : Math.max(wait, usual === false ? 0 : usual);
  };
}
