/** When what was read is read again, and what is tried once more by itself. */
import { QueryClient } from '@tanstack/react-query';
import { askedWaitMs, pollEvery } from './polling.js';
import { ApiProblem, Unreachable } from './problem.js';

const STALE_MS = 10_000;
const MOST_TRIES = 3;
const LONGEST_PAUSE_MS = 8_000;
/** A 429 that asks for a longer wait is shown at once, with the wait. */
const LONGEST_SILENT_WAIT_MS = 5_000;

/** A lost network and an overloaded server may be better a moment later; a refusal stays one. */
function mayPass(error: Error): boolean {
  const wait = askedWaitMs(error);
  if (wait !== undefined) return wait <= LONGEST_SILENT_WAIT_MS;
  return error instanceof Unreachable || (error instanceof ApiProblem && [502, 503, 504].includes(error.status));
}

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: STALE_MS,
      retry: (failures, error) => failures < MOST_TRIES && mayPass(error),
      retryDelay: (failures, error) => askedWaitMs(error) ?? Math.min(1_000 * 2 ** failures, LONGEST_PAUSE_MS),
      refetchInterval: pollEvery(false),
      // The browser says it is offline for reasons of its own; a request that fails says it for sure.
      networkMode: 'always',
      // Which that would turn off. When it says that it is back, what failed is read again.
      refetchOnReconnect: true,
    },
    mutations: { networkMode: 'always', retry: false },
  },
});
