/** Page on which operators search, create and edit the accounts of the installation. */
import { Anchor, Badge, Box, Button, Group, Select, Stack, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { Plural, Trans, useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { Link, useLocation } from 'wouter';
import { Empty } from '../layout/empty.js';
import { Icon } from '../layout/icons.js';
import { Page } from '../layout/page.js';
import { Lines, PagedList } from '../layout/paged-list.js';
import { useFormats } from '../words/times.js';
import { AccountDialog } from './account-dialog.js';
import { useAccounts, type Account, type AccountFilter } from './accounts.js';

/** Delay after the last keystroke before a search, in milliseconds. */
const SEARCH_DELAY_MS = 200;
const ANY_STATUS = 'any';

export function AccountsPage() {
  const { t } = useLingui();
  const [, go] = useLocation();
  const [isCreating, setCreating] = useState(false);
  const create = (
    <Button leftSection={<Icon name="plus" />} onClick={() => setCreating(true)}>
      <Trans>Create account</Trans>
    </Button>
  );
  return (
    <Page
      title={t`Accounts`}
      description={<Trans>All API customers. Open one to view it as its owner.</Trans>}
      actions={create}
    >
      <Accounts />
      <AccountDialog opened={isCreating} onClose={() => setCreating(false)} onDone={({ id }) => go(`/${id}/members`)} />
    </Page>
  );
}

function Accounts() {
  const { t } = useLingui();
  const [search, setSearch] = useState('');
  const [status, setStatus] = useState(ANY_STATUS);
  const q = search.trim();
  const [filter] = useDebouncedValue<AccountFilter>(
    { ...(q === '' ? {} : { q }), ...(status === 'active' || status === 'suspended' ? { status } : {}) },
    SEARCH_DELAY_MS,
  );
  const accounts = useAccounts(filter);
  return (
    <Stack gap="md">
      <Group gap="sm">
        <TextInput
          flex={{ base: '1 1 100%', sm: '1 1 220px' }}
          type="search"
          aria-label={t`Search accounts`}
          placeholder={t`Search by name or ID`}
          leftSection={<Icon name="search" size={16} />}
          maxLength={200}
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
        />
        <Select
          flex={{ base: '1 1 140px', sm: '0 0 180px' }}
          aria-label={t`Status`}
          allowDeselect={false}
          data={[
            { value: ANY_STATUS, label: t`All statuses` },
            { value: 'active', label: t`Active` },
            { value: 'suspended', label: t`Suspended` },
          ]}
          value={status}
          onChange={(value) => setStatus(value ?? ANY_STATUS)}
        />
      </Group>
      <PagedList
        list={accounts}
        empty={
          <Empty icon="search" title={t`No matching accounts`} text={t`Try another search or create an account.`} />
        }
      >
        {(rows) => (
          <>
            <Lines>
              {rows.map((account) => (
                <Line key={account.id} account={account} />
              ))}
            </Lines>
            <Text size="sm" c="dimmed" ta="center" role="status">
              {accounts.hasNextPage ? (
                <Plural value={rows.length} one="Showing # account" other="Showing # accounts" />
              ) : (
                <Plural value={rows.length} one="# account" other="# accounts" />
              )}
            </Text>
          </>
        )}
      </PagedList>
    </Stack>
  );
}

function Line({ account }: { readonly account: Account }) {
  const { t } = useLingui();
  const { date } = useFormats(account.time_zone);
  const [isEditing, setEditing] = useState(false);
  const { id, name, plan, status, time_zone: zone } = account;
  const made = date(account.created_at);
  return (
    <li className="line">
      <Group justify="space-between" gap="sm" wrap="nowrap">
        <Box miw={0}>
          <Group gap="xs">
            <Anchor component={Link} href={`/${id}/api-keys`} fw={600} className="name">
              {name}
            </Anchor>
            {status === 'suspended' && (
              <Badge color="orange" variant="light" size="sm">
                <Trans>Suspended</Trans>
              </Badge>
            )}
          </Group>
          <Text size="sm" c="dimmed" className="name">
            {plan} · {zone} · <Trans>since {made}</Trans>
          </Text>
        </Box>
        <Button
          variant="default"
          size="sm"
          aria-label={t`Change ${name}`}
          onClick={() => setEditing(true)}
          style={{ flexShrink: 0 }}
        >
          <Icon name="pencil" size={16} />
        </Button>
      </Group>
      <AccountDialog account={account} opened={isEditing} onClose={() => setEditing(false)} />
    </li>
  );
}
