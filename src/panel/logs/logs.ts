/** Reading the requests of an account. */
import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import type { components, operations } from '../api/admin-api.js';
import { api, ask } from '../api/client.js';
import { pollEvery } from '../api/polling.js';

export type LoggedRequest = components['schemas']['RequestLogEntry'];
export type RequestDetail = components['schemas']['RequestDetail'];
type Query = NonNullable<operations['listRequests']['parameters']['query']>;
export type LogFilter = Pick<Query, 'status' | 'api_key_id' | 'operation' | 'request_id'>;

const PAGE_SIZE = 50;
/** Usage and requests are written together every second or two. */
const FOLLOW_MS = 2_000;

/** The newest requests, a page after the other; read anew all the time where they are followed. */
export const useRequests = (accountId: string, filter: LogFilter, isLive: boolean) =>
  useInfiniteQuery({
    queryKey: ['account', accountId, 'requests', filter],
    queryFn: ({ pageParam, signal }) =>
      ask(
        api.GET('/admin/v1/accounts/{id}/requests', {
          params: {
            path: { id: accountId },
            query: { ...filter, limit: PAGE_SIZE, ...(pageParam === null ? {} : { cursor: pageParam }) },
          },
          signal,
        }),
      ),
    initialPageParam: null as string | null,
    getNextPageParam: ({ has_more: hasMore, next_cursor: next }) => (hasMore ? next : null),
    refetchInterval: pollEvery(isLive ? FOLLOW_MS : false),
    staleTime: 0,
    placeholderData: keepPreviousData,
  });

/** One request, and what its code means. */
export const useRequest = (accountId: string, requestId: string) =>
  useQuery({
    queryKey: ['account', accountId, 'request', requestId],
    queryFn: () =>
      ask(
        api.GET('/admin/v1/accounts/{id}/requests/{request_id}', {
          params: { path: { id: accountId, request_id: requestId } },
        }),
      ),
  });
