/** List that loads page by page. It shows a placeholder while loading, then the rows and a button that loads more. */
import { Card, Skeleton, Stack } from '@mantine/core';
import { useMemo, type ReactNode } from 'react';
import { Failure } from '../words/failure.js';
import { ShowMore, type ShowMoreProps } from './show-more.js';

interface PagedListProps<Row> {
  /** Result of `usePages`. */
  readonly list: ShowMoreProps['list'] & {
    readonly data: { readonly pages: readonly { readonly data: readonly Row[] }[] } | undefined;
    readonly error: unknown;
    readonly refetch: () => unknown;
  };
  /** Placeholder until the first page arrives. Default: a gray box. */
  readonly loading?: ReactNode;
  /** Content if there are no rows. */
  readonly empty: ReactNode;
  /** Renders the rows, of which there is at least one. The array is the same object until the data changes. */
  readonly children: (rows: readonly Row[]) => ReactNode;
}

/** PagedList renders the list. An error does not hide rows that are already loaded. */
export function PagedList<Row>({ list, loading, empty, children }: PagedListProps<Row>) {
  const rows = useMemo(() => list.data?.pages.flatMap(({ data }) => data), [list.data]);
  const failure = list.error !== null && <Failure error={list.error} again={() => void list.refetch()} />;
  if (rows === undefined) return failure || loading || <Skeleton h={240} radius="lg" />;
  return (
    <Stack gap="md">
      {failure}
      {rows.length === 0 ? empty : children(rows)}
      <ShowMore list={list} />
    </Stack>
  );
}

/** Lines renders a card with one line per row. */
export const Lines = ({ children }: { readonly children: ReactNode }) => (
  <Card p={0}>
    <Stack gap={0} component="ul" className="plain-list">
      {children}
    </Stack>
  </Card>
);
