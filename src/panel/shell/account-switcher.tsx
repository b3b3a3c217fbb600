/** Whose settings these are, and the way to the others that one is a member of. */
import { Badge, Button, Combobox, Group, Text, useCombobox } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { api, ask } from '../api/client.js';
import type { Account } from '../session/accounts.js';
import { useMe } from '../session/session.js';
import { Icon } from '../layout/icons.js';

/** From so many on, there is a field to search them by. */
const MANY = 8;

interface Choice {
  readonly id: string;
  readonly name: string;
  readonly status: string;
}

/** The accounts of a member; of an operator all. */
function useChoices(isOpen: boolean): readonly Choice[] {
  const me = useMe();
  const isOperator = me.member?.is_operator === true;
  const { data } = useQuery({
    queryKey: ['accounts', 'choices'],
    queryFn: () => ask(api.GET('/admin/v1/accounts', { params: { query: { limit: 100 } } })),
    enabled: isOperator && isOpen,
  });
  return isOperator ? (data?.data ?? []) : me.accounts;
}

export function AccountSwitcher({ account }: { readonly account: Account }) {
  const { t } = useLingui();
  const [, go] = useLocation();
  const [search, setSearch] = useState('');
  const combobox = useCombobox({ onDropdownClose: () => setSearch('') });
  const choices = useChoices(combobox.dropdownOpened);
  const found = choices.filter(({ name }) => name.toLowerCase().includes(search.trim().toLowerCase()));
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
          aria-label={t`Account: ${account.name}. Change the account`}
          rightSection={<Icon name="down" size={16} />}
          onClick={() => combobox.toggleDropdown()}
        >
          <Text inherit truncate className="name">
            {account.name}
          </Text>
        </Button>
      </Combobox.Target>
      <Combobox.Dropdown>
        {choices.length > MANY && (
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
          {found.length === 0 && (
            <Combobox.Empty>
              <Trans>No account has this name</Trans>
            </Combobox.Empty>
          )}
        </Combobox.Options>
      </Combobox.Dropdown>
    </Combobox>
  );
}
