/** Page that lists the API keys of an account. The path `/api-keys/new` opens the dialog that creates a key. */
import { Button, Skeleton, Stack, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { Plural, Trans, useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { useSearchParams } from 'wouter';
import { useAccount, useCan } from '../session/accounts.js';
import { Empty } from '../layout/empty.js';
import { ListPage } from '../layout/list-page.js';
import { PagedList } from '../layout/paged-list.js';
import { CreateDialog } from './create-dialog.js';
import { KeyFilters, ORDERS, DEFAULT_STATUS, type Chosen } from './key-filters.js';
import { KeyTable } from './key-table.js';
import { useKeys, type KeyFilter } from './keys.js';

const DEFAULT_FILTERS: Chosen = { search: '', status: DEFAULT_STATUS, environment: 'both', order: 'newest' };
/** Delay after the last keystroke before a search, in milliseconds. */
const SEARCH_DELAY_MS = 200;

const filterOf = ({ search, status, environment, order }: Chosen): KeyFilter => ({
  ...ORDERS[order],
  status,
  ...(search.trim() === '' ? {} : { q: search.trim() }),
  ...(environment === 'both' ? {} : { environment }),
});

export function KeysPage() {
  const { t } = useLingui();
  const { id } = useAccount();
  const may = useCan();
  const [parameters] = useSearchParams();
  return (
    <ListPage
      title={t`API keys`}
      description={
        <Trans>
          API keys authenticate requests from your apps. Create one per app, with only the permissions it needs.
        </Trans>
      }
      home={`/${id}/api-keys`}
      mayCreate={may('createApiKey')}
      createLabel={t`Create API key`}
      dialog={(state) => <CreateDialog {...state} parameters={parameters} />}
    >
      {(create) => <Keys create={create} />}
    </ListPage>
  );
}

function Keys({ create }: { readonly create: React.ReactNode }) {
  const account = useAccount();
  const [chosen, setChosen] = useState(DEFAULT_FILTERS);
  const [filter] = useDebouncedValue(filterOf(chosen), SEARCH_DELAY_MS);
  const keys = useKeys(account.id, filter);
  const isUnfiltered = chosen.search === '' && chosen.status === DEFAULT_STATUS && chosen.environment === 'both';
  return (
    <Stack gap="md">
      <KeyFilters chosen={chosen} onChoose={(change) => setChosen({ ...chosen, ...change })} />
      <PagedList
        list={keys}
        loading={<Loading />}
        empty={
          isUnfiltered && !keys.isPlaceholderData ? (
            <NoKeys create={create} />
          ) : (
            <>
              <NoMatch onClear={() => setChosen(DEFAULT_FILTERS)} />
              <Count shown={0} hasMore={keys.hasNextPage} />
            </>
          )
        }
      >
        {(rows) => (
          <>
            <KeyTable keys={rows} />
            <Count shown={rows.length} hasMore={keys.hasNextPage} />
          </>
        )}
      </PagedList>
    </Stack>
  );
}

function NoKeys({ create }: { readonly create: React.ReactNode }) {
  const { t } = useLingui();
  const text = t`Create a key to start making requests. It takes about a minute.`;
  return <Empty icon="key" title={t`No active keys`} text={text} action={create} />;
}

function NoMatch({ onClear }: { readonly onClear: () => void }) {
  const { t } = useLingui();
  return (
    <Empty
      icon="search"
      title={t`No matching keys`}
      text={t`Try a different search or show all statuses.`}
      action={
        <Button variant="default" onClick={onClear}>
          <Trans>Clear filters</Trans>
        </Button>
      }
    />
  );
}

function Count({ shown, hasMore }: { readonly shown: number; readonly hasMore: boolean }) {
  return (
    <Text size="sm" c="dimmed" ta="center" role="status">
      {hasMore ? (
        <Plural value={shown} one="Showing # key" other="Showing # keys" />
      ) : (
        <Plural value={shown} one="# key" other="# keys" />
      )}
    </Text>
  );
}

function Loading() {
  return (
    <Stack gap="sm">
      {[0, 1, 2, 3].map((row) => (
        <Skeleton key={row} h={64} radius="lg" />
      ))}
    </Stack>
  );
}
