/** TanStack Query client of the panel. Its defaults decide when data is refetched and which failures are retried. */
import { QueryClient } from '@tanstack/react-query';
import { retryAfterMs, pollEvery } from './polling.js';
import { ApiProblem, Unreachable } from './problem.js';

const STALE_MS = 10_000;
const MAX_RETRIES = 3;
const MAX_RETRY_DELAY_MS = 8_000;
/** After a 429 with a longer wait, the error is shown immediately instead of retrying. */
const MAX_SILENT_WAIT_MS = 5_000;

/** Reports whether a retry can help: after a network failure, an overload or a short 429, but not after a rejection. */
function isRetryable(error: Error): boolean {
  const wait = retryAfterMs(error);
  if (wait !== undefined) return wait <= MAX_SILENT_WAIT_MS;
  return error instanceof Unreachable || (error instanceof ApiProblem && [502, 503, 504].includes(error.status));
}

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: STALE_MS,
      retry: (failures, error) => failures < MAX_RETRIES && isRetryable(error),
      retryDelay: (failures, error) => retryAfterMs(error) ?? Math.min(1_000 * 2 ** failures, MAX_RETRY_DELAY_MS),
      refetchInterval: pollEvery(false),
      // The browser's offline state is unreliable, so requests run anyway and report their failure.
      networkMode: 'always',
      // `networkMode: 'always'` turns this off by default. Stale and failed queries are refetched when the browser is
      // online again.
      refetchOnReconnect: true,
    },
    mutations: { networkMode: 'always', retry: false },
  },
});
