/** TanStack Query client of the panel. Its defaults decide when data is refetched and which failures are retried. */
import { QueryClient } from '@tanstack/react-query';
import { retryAfterMs, pollEvery } from './polling.js';
import { ApiProblem, Unreachable } from './problem.js';

const STALE_MS = 10_000;
const MAX_RETRIES = 3;
const MAX_RETRY_DELAY_MS = 8_000;
/**
 * Longest wait after a 429 response that delays a retry, in milliseconds. For a longer wait, the panel shows the error
 * at once.
 */
const MAX_SILENT_WAIT_MS = 5_000;

/**
 * Reports whether to retry a query. True after a network failure, after 502, 503 or 504, and after a 429 with a short
 * wait.
 */
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
      // The browser's offline state is unreliable. Requests are sent anyway, and their failure is shown.
      networkMode: 'always',
      // Refetches stale and failed queries when the browser is online again. `networkMode: 'always'` turns this off by
      // default.
      refetchOnReconnect: true,
    },
    mutations: { networkMode: 'always', retry: false },
  },
});
