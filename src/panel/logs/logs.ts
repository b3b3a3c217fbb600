/** Queries to the admin API that read the request log. */
import { useQuery } from '@tanstack/react-query';
import type { components, operations } from '../api/admin-api.js';
import { api, unwrap } from '../api/client.js';
import { usePages } from '../api/pages.js';

export type LoggedRequest = components['schemas']['RequestLogEntry'];
export type RequestDetail = components['schemas']['RequestDetail'];
type Query = NonNullable<operations['listRequests']['parameters']['query']>;
export type LogFilter = Pick<Query, 'status' | 'api_key_id' | 'operation' | 'request_id'>;

/**
 * Polling interval of the live tail, in milliseconds. The gateway writes the log at each flush of usage
 * (`usage.flushInterval`, 5 seconds by default).
 */
const POLL_MS = 2_000;

/** Reads the requests of an account page by page, newest first. If `isLive` is true, polls for new requests. */
export const useRequests = (accountId: string, filter: LogFilter, isLive: boolean) =>
  usePages(
    ['account', accountId, 'requests', filter],
    (page, signal) =>
      unwrap(
        api.GET('/admin/v1/accounts/{id}/requests', {
          params: { path: { id: accountId }, query: { ...filter, ...page } },
          signal,
        }),
      ),
    { keepsPrevious: true, everyMs: isLive ? POLL_MS : false },
  );

/**
 * Reads one request, with an explanation of what would happen to the same request now. The explanation is null if the
 * operation no longer exists.
 */
export const useRequest = (accountId: string, requestId: string) =>
  useQuery({
    queryKey: ['account', accountId, 'request', requestId],
    queryFn: () =>
      unwrap(
        api.GET('/admin/v1/accounts/{id}/requests/{request_id}', {
          params: { path: { id: accountId, request_id: requestId } },
        }),
      ),
  });
