/**
 * Refetch intervals of queries that poll. After a 429 response, a query waits at least as long as `Retry-After` says.
 */
import { ApiProblem } from './problem.js';

const MINUTE_MS = 60_000;

type Interval<Data> = (query: PolledQuery<Data>) => number | false;

/** PolledQuery is the part of a TanStack query that decides about its next request. */
interface PolledQuery<Data> {
  readonly state: { readonly data: Data | undefined; readonly error: Error | null };
}

/**
 * Returns how long to wait after a 429 response, in milliseconds. Without `Retry-After`, returns one minute. Undefined
 * for other errors.
 */
export function retryAfterMs(error: Error | null): number | undefined {
  if (!(error instanceof ApiProblem) || error.status !== 429) return undefined;
  return error.retryAfterSeconds === undefined ? MINUTE_MS : error.retryAfterSeconds * 1_000;
}

/**
 * Returns a `refetchInterval` for a query. After a 429 response, the query is sent again after the wait, even if the
 * query does not poll.
 * @param every interval in milliseconds, or a function of the last data. False: no polling.
 */
export function pollEvery(every: number | false): Interval<unknown>;
export function pollEvery<Data>(every: (data: Data | undefined) => number | false): Interval<Data>;
export function pollEvery<Data>(every: number | false | ((data: Data | undefined) => number | false)): Interval<Data> {
  return ({ state: { data, error } }) => {
    const ownInterval = typeof every === 'function' ? every(data) : every;
    const wait = retryAfterMs(error);
    return wait === undefined ? ownInterval : Math.max(wait, ownInterval === false ? 0 : ownInterval);
  };
}
