/** Refetch intervals of pages that poll: their own interval, or the wait that the server asked for with a 429. */
import { ApiProblem } from './problem.js';

const MINUTE_MS = 60_000;

type Interval<Data> = (query: Polled<Data>) => number | false;

interface Polled<Data> {
  readonly state: { readonly data: Data | undefined; readonly error: Error | null };
}

/** Returns the wait that the server asked for, in milliseconds; undefined if it asked for none. */
export function askedWaitMs(error: Error | null): number | undefined {
  if (!(error instanceof ApiProblem) || error.status !== 429) return undefined;
  return error.retryAfterSeconds === undefined ? MINUTE_MS : error.retryAfterSeconds * 1_000;
}

/**
 * Returns a `refetchInterval` for a query. A query that does not poll is refetched once after a 429.
 * @param every interval in milliseconds, or a function of the last data; false: no polling.
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
