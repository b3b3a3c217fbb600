/** Hook that reads a list of the admin API page by page, for example for `PagedList`. */
import { keepPreviousData, useInfiniteQuery, type QueryKey } from '@tanstack/react-query';
import { pollEvery } from './polling.js';

const DEFAULT_PAGE_SIZE = 50;

/** Query parameters that select a page. */
export interface PageQuery {
  /** Maximum number of rows of the page. */
  readonly limit: number;
  /** `next_cursor` of the previous page. Missing for the first page. */
  readonly cursor?: string;
}

interface PagesOptions {
  /** Rows per page. Default: 50. */
  readonly size?: number;
  /** Whether rows of the previous filter stay visible until the new rows arrive. */
  readonly keepsPrevious?: boolean;
  /** Polling interval in milliseconds. Each poll reads all loaded pages. False or undefined: no polling. */
  readonly everyMs?: number | false;
}

/**
 * Reads a list page by page. Pass the result to `PagedList` or `ShowMore`.
 * @param read requests one page.
 */
export const usePages = <Page extends { readonly next_cursor: string | null; readonly has_more: boolean }>(
  key: QueryKey,
  read: (page: PageQuery, signal: AbortSignal) => Promise<Page>,
  { size = DEFAULT_PAGE_SIZE, keepsPrevious = false, everyMs }: PagesOptions = {},
) =>
  useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam, signal }) =>
      read({ limit: size, ...(pageParam === null ? {} : { cursor: pageParam }) }, signal),
    initialPageParam: null as string | null,
    getNextPageParam: ({ has_more: hasMore, next_cursor: next }) => (hasMore ? next : null),
    ...(keepsPrevious ? { placeholderData: keepPreviousData } : {}),
    ...(everyMs === undefined ? {} : { refetchInterval: pollEvery(everyMs), staleTime: 0 }),
  });
