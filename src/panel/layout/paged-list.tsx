/** A list that the API gives page by page: what stands for it before it is there, its rows, and the button for more. */
import { Card, Skeleton, Stack } from '@mantine/core';
import { useMemo, type ReactNode } from 'react';
import { Failure } from '../words/failure.js';
import { ShowMore, type ShowMoreProps } from './show-more.js';

interface PagedListProps<Row> {
  /** Returned by `usePages`. */
  readonly list: ShowMoreProps['list'] & {
    readonly data: { readonly pages: readonly { readonly data: readonly Row[] }[] } | undefined;
    readonly error: unknown;
    readonly refetch: () => unknown;
  };
  /** Shown until the first page is there. */
  readonly loading?: ReactNode;
  /** Shown where there is no row. */
  readonly empty: ReactNode;
  /** Draws the rows that were read so far, at least one. They are the same array until others are read. */
  readonly children: (rows: readonly Row[]) => ReactNode;
}

/** Shows the rows of a list. An error stands above those that were read before it. */
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

/** The card that has a line for each row. */
export const Lines = ({ children }: { readonly children: ReactNode }) => (
  <Card p={0}>
    <Stack gap={0} component="ul" className="plain-list">
      {children}
    </Stack>
  </Card>
);
