/** Query client: when data is refetched and which failures are retried. */
import { QueryClient } from '@tanstack/react-query';
import { askedWaitMs, pollEvery } from './polling.js';
import { ApiProblem, Unreachable } from './problem.js';

const STALE_MS = 10_000;
const MOST_TRIES = 3;
const LONGEST_PAUSE_MS = 8_000;
/** A 429 with a longer wait is shown immediately. */
const LONGEST_SILENT_WAIT_MS = 5_000;

/** Reports whether a retry can help: after a network failure or an overload, not after a rejection. */
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
      // The browser's offline state is unreliable, so requests run anyway and report their failure.
      networkMode: 'always',
      // The network mode above turns this off by default. Failed queries are refetched when the browser is online
      // again.
      refetchOnReconnect: true,
    },
    mutations: { networkMode: 'always', retry: false },
  },
});
