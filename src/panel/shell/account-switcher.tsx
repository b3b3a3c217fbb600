/** Shows the current account in the header. Users with several accounts can switch to another account. */
import { Badge, Button, Combobox, Group, Text, useCombobox } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { Trans, useLingui } from '@lingui/react/macro';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { api, unwrap } from '../api/client.js';
import type { Account } from '../session/accounts.js';
import { useMe } from '../session/session.js';
import { Icon } from '../layout/icons.js';
import { Failure } from '../words/failure.js';

/** Number of accounts above which the menu has a search field. */
const SEARCH_ABOVE = 8;
/** Maximum number of accounts that a search in the API returns. */
const MAX_SHOWN = 50;
/** Delay after the last keystroke before a search, in milliseconds. */
const SEARCH_DELAY_MS = 200;

interface AccountOption {
  readonly id: string;
  readonly name: string;
  readonly status: string;
}

interface SearchResult {
  readonly found: readonly AccountOption[];
  /** Whether more accounts match the search than `found` contains. */
  readonly hasMore: boolean;
  /** Whether the menu has a search field. */
  readonly hasSearch: boolean;
  readonly error: unknown;
}

/**
 * Returns the accounts whose name matches a search. For operators and members of very many accounts, the API does the
 * search while the menu is open. For other users, the panel already knows all accounts.
 */
function useAccountSearch(isOpen: boolean, search: string): SearchResult {
  const me = useMe();
  const isSearchedRemotely = me.member?.is_operator === true || me.has_more_accounts;
  const [q] = useDebouncedValue(search.trim(), SEARCH_DELAY_MS);
  const { data, error } = useQuery({
    queryKey: ['accounts', 'choices', q],
    queryFn: ({ signal }) => {
      const query = { limit: MAX_SHOWN, sort: 'name', ...(q === '' ? {} : { q }) } as const;
      return unwrap(api.GET('/admin/v1/accounts', { params: { query }, signal }));
    },
    enabled: isSearchedRemotely && isOpen,
    placeholderData: keepPreviousData,
  });
  if (isSearchedRemotely)
    return { found: data?.data ?? [], hasMore: data?.has_more === true, hasSearch: true, error: isOpen ? error : null };
  const words = search.trim().toLowerCase();
  const found = me.accounts.filter(({ name }) => name.toLowerCase().includes(words));
  return { found, hasMore: false, hasSearch: me.accounts.length > SEARCH_ABOVE, error: null };
}

export function AccountSwitcher({ account }: { readonly account: Account }) {
  const { member, accounts, has_more_accounts: hasMore } = useMe();
  const hasOthers = member?.is_operator === true || hasMore || accounts.length > 1;
  if (hasOthers) return <AccountCombobox account={account} />;
  return (
    <Text fw={600} truncate maw={{ base: 220, sm: 340 }} className="name">
      {account.name}
    </Text>
  );
}

function AccountCombobox({ account }: { readonly account: Account }) {
  const { t } = useLingui();
  const [, navigate] = useLocation();
  const [search, setSearch] = useState('');
  const combobox = useCombobox({ onDropdownClose: () => setSearch('') });
  const { found, hasMore, hasSearch, error } = useAccountSearch(combobox.dropdownOpened, search);
  return (
    <Combobox
      store={combobox}
      width={300}
      position="bottom-start"
      onOptionSubmit={(id) => {
        combobox.closeDropdown();
        navigate(`/${id}/api-keys`);
      }}
    >
      <Combobox.Target targetType="button">
        <Button
          variant="default"
          maw={{ base: 220, sm: 340 }}
          fw={600}
          aria-label={t`Account: ${account.name}. Switch account`}
          rightSection={<Icon name="down" size={16} />}
          onClick={() => combobox.toggleDropdown()}
        >
          <Text inherit truncate className="name">
            {account.name}
          </Text>
        </Button>
      </Combobox.Target>
      <Combobox.Dropdown>
        {hasSearch && (
          <Combobox.Search
            value={search}
            onChange={(event) => setSearch(event.currentTarget.value)}
            placeholder={t`Find an account`}
            aria-label={t`Find an account`}
          />
        )}
        <Combobox.Options mah={320} style={{ overflowY: 'auto' }} aria-label={t`Accounts`}>
          {found.map(({ id, name, status }) => (
            <Combobox.Option key={id} value={id} active={id === account.id}>
              <Group justify="space-between" wrap="nowrap" gap="xs">
                <Text size="sm" className="name" fw={id === account.id ? 600 : 400}>
                  {name}
                </Text>
                {status === 'suspended' && (
                  <Badge color="orange" variant="light" size="sm">
                    <Trans>Suspended</Trans>
                  </Badge>
                )}
                {id === account.id && <Icon name="check" size={16} />}
              </Group>
            </Combobox.Option>
          ))}
          {found.length === 0 && error === null && (
            <Combobox.Empty>
              <Trans>No accounts found</Trans>
            </Combobox.Empty>
          )}
        </Combobox.Options>
        {error !== null && <Failure error={error} />}
        {hasMore && (
          <Combobox.Footer>
            <Text size="xs" c="dimmed">
              <Trans>There are more. Search to find the one you need.</Trans>
            </Text>
          </Combobox.Footer>
        )}
      </Combobox.Dropdown>
    </Combobox>
  );
}
