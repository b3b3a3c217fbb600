/** Reads lists of the API page by page. */
import { keepPreviousData, useInfiniteQuery, type QueryKey } from '@tanstack/react-query';
import { pollEvery } from './polling.js';

const USUAL_SIZE = 50;

/** PageQuery is the part of a request's query that chooses the page. */
export interface PageQuery {
  readonly limit: number;
  readonly cursor?: string;
}

interface PagesOptions {
  /** Rows per page. */
  readonly size?: number;
  /** Whether rows of the previous filter stay visible until the new ones arrive. */
  readonly keepsPrevious?: boolean;
  /** Refetch interval for all pages, in milliseconds; false: no polling. */
  readonly everyMs?: number | false;
}

/**
 * Reads a list page by page. `ShowMore` takes the result.
 * @param read requests one page.
 */
export const usePages = <Page extends { readonly next_cursor: string | null; readonly has_more: boolean }>(
  key: QueryKey,
  read: (page: PageQuery, signal: AbortSignal) => Promise<Page>,
  { size = USUAL_SIZE, keepsPrevious = false, everyMs }: PagesOptions = {},
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
