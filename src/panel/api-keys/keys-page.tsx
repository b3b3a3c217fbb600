/** The keys of an account, and at `/api-keys/new` the dialog that makes one. */
import { Button, Skeleton, Stack, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { Plural, Trans, useLingui } from '@lingui/react/macro';
import { useMemo, useState } from 'react';
import { Link, useLocation, useSearchParams } from 'wouter';
import { useAccount, useMay } from '../session/accounts.js';
import { Empty } from '../layout/empty.js';
import { Icon } from '../layout/icons.js';
import { Page } from '../layout/page.js';
import { ShowMore } from '../layout/show-more.js';
import { Failure } from '../words/failure.js';
import { CreateDialog } from './create-dialog.js';
import { KeyFilters, ORDERS, USUAL_STATUS, type Chosen } from './key-filters.js';
import { KeyTable } from './key-table.js';
import { useKeys, type KeyFilter } from './keys.js';

const USUAL: Chosen = { search: '', status: USUAL_STATUS, environment: 'both', order: 'newest' };
/** Typing is done when it rests this long. */
const REST_MS = 200;

const filterOf = ({ search, status, environment, order }: Chosen): KeyFilter => ({
  ...ORDERS[order],
  status,
  ...(search.trim() === '' ? {} : { q: search.trim() }),
  ...(environment === 'both' ? {} : { environment }),
});

export function KeysPage() {
  const { t } = useLingui();
  const account = useAccount();
  const may = useMay();
  const [location, go] = useLocation();
  const [parameters] = useSearchParams();
  const home = `/${account.id}/api-keys`;
  const mayCreate = may('createApiKey');
  const create = (
    <Button component={Link} href={`${home}/new`} leftSection={<Icon name="plus" />}>
      <Trans>Create an API key</Trans>
    </Button>
  );
  return (
    <Page
      title={t`API keys`}
      about={
        <Trans>
          A key lets a program use the API in the name of your account. Give each program its own, with only what it
          needs.
        </Trans>
      }
      actions={mayCreate && create}
    >
      <Keys create={mayCreate ? create : null} />
      {mayCreate && (
        <CreateDialog
          opened={location === `${home}/new`}
          parameters={parameters}
          onClose={() => go(home, { replace: true })}
        />
      )}
    </Page>
  );
}

function Keys({ create }: { readonly create: React.ReactNode }) {
  const { t } = useLingui();
  const account = useAccount();
  const [chosen, setChosen] = useState(USUAL);
  const [filter] = useDebouncedValue(filterOf(chosen), REST_MS);
  const keys = useKeys(account.id, filter);
  const rows = useMemo(() => keys.data?.pages.flatMap(({ data }) => data) ?? [], [keys.data]);
  const isUnfiltered = chosen.search === '' && chosen.status === USUAL_STATUS && chosen.environment === 'both';
  const filters = <KeyFilters chosen={chosen} onChoose={(change) => setChosen({ ...chosen, ...change })} />;
  if (keys.data === undefined)
    return (
      <Stack gap="md">
        {filters}
        {keys.error === null ? <Loading /> : <Failure error={keys.error} again={() => void keys.refetch()} />}
      </Stack>
    );
  if (rows.length === 0 && isUnfiltered && !keys.isPlaceholderData)
    return (
      <Stack gap="md">
        {filters}
        <Empty
          icon="key"
          title={t`No key is in use`}
          text={t`Create one for the first program that shall use the API. It takes a minute.`}
          action={create}
        />
      </Stack>
    );
  return (
    <Stack gap="md">
      {filters}
      {keys.error !== null && <Failure error={keys.error} again={() => void keys.refetch()} />}
      {rows.length === 0 ? (
        <Empty
          icon="search"
          title={t`No key is like this`}
          text={t`Search for less, or look at keys in every state.`}
          action={
            <Button variant="default" onClick={() => setChosen(USUAL)}>
              <Trans>Show all that are in use</Trans>
            </Button>
          }
        />
      ) : (
        <KeyTable keys={rows} />
      )}
      <Text size="sm" c="dimmed" ta="center" role="status">
        {keys.hasNextPage ? (
          <Plural value={rows.length} one="# key so far" other="# keys so far" />
        ) : (
          <Plural value={rows.length} one="# key" other="# keys" />
        )}
      </Text>
      <ShowMore list={keys} />
    </Stack>
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
