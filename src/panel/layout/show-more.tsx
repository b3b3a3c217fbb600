/** The button behind a list of which there is more; nothing where there is not. */
import { Button, Center } from '@mantine/core';
import { Trans } from '@lingui/react/macro';

export interface ShowMoreProps {
  /** As `useInfiniteQuery` says it. */
  readonly list: {
    readonly hasNextPage: boolean;
    readonly isFetchingNextPage: boolean;
    readonly fetchNextPage: () => Promise<unknown>;
  };
}

export function ShowMore({ list }: ShowMoreProps) {
  if (!list.hasNextPage) return null;
  return (
    <Center>
      <Button variant="default" loading={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
        <Trans>Load more</Trans>
      </Button>
    </Center>
  );
}
