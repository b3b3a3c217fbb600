/** Button that loads the next page of a list. Renders nothing if there are no more pages. */
import { Button, Center } from '@mantine/core';
import { Trans } from '@lingui/react/macro';

export interface ShowMoreProps {
  /** Result of `useInfiniteQuery`, reduced to the members that the button uses. */
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
