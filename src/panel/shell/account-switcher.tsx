/** Shows the current account, and switches to another. */
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

/** From this many accounts on, there is a search field. */
const MANY = 8;
/** Maximum number of accounts to list. */
const SHOWN = 50;
/** Delay after the last keystroke before a search, in milliseconds. */
const REST_MS = 200;

interface Choosable {
  readonly id: string;
  readonly name: string;
  readonly status: string;
}

interface Choices {
  readonly found: readonly Choosable[];
  /** Whether there are more matches than listed. */
  readonly hasMore: boolean;
  readonly hasSearch: boolean;
  readonly error: unknown;
}

/** Returns matching accounts. Operators and members of very many accounts search with the API. */
function useChoices(isOpen: boolean, search: string): Choices {
  const me = useMe();
  const isAsked = me.member?.is_operator === true || me.has_more_accounts;
  const [q] = useDebouncedValue(search.trim(), REST_MS);
  const { data, error } = useQuery({
    queryKey: ['accounts', 'choices', q],
    queryFn: ({ signal }) => {
      const query = { limit: SHOWN, sort: 'name', ...(q === '' ? {} : { q }) } as const;
      return unwrap(api.GET('/admin/v1/accounts', { params: { query }, signal }));
    },
    enabled: isAsked && isOpen,
    placeholderData: keepPreviousData,
  });
  if (isAsked)
    return { found: data?.data ?? [], hasMore: data?.has_more === true, hasSearch: true, error: isOpen ? error : null };
  const words = search.trim().toLowerCase();
  const found = me.accounts.filter(({ name }) => name.toLowerCase().includes(words));
  return { found, hasMore: false, hasSearch: me.accounts.length > MANY, error: null };
}

export function AccountSwitcher({ account }: { readonly account: Account }) {
  const { member, accounts, has_more_accounts: hasMore } = useMe();
  const hasOthers = member?.is_operator === true || hasMore || accounts.length > 1;
  if (hasOthers) return <Choice account={account} />;
  return (
    <Text fw={600} truncate maw={{ base: 220, sm: 340 }} className="name">
      {account.name}
    </Text>
  );
}

function Choice({ account }: { readonly account: Account }) {
  const { t } = useLingui();
  const [, go] = useLocation();
  const [search, setSearch] = useState('');
  const combobox = useCombobox({ onDropdownClose: () => setSearch('') });
  const { found, hasMore, hasSearch, error } = useChoices(combobox.dropdownOpened, search);
  return (
    <Combobox
      store={combobox}
      width={300}
      position="bottom-start"
      onOptionSubmit={(id) => {
        combobox.closeDropdown();
        go(`/${id}/api-keys`);
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
