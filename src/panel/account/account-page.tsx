/** Page that shows an account: plan, limits, time zone and status. Only operators can edit or delete the account. */
import { Badge, Button, Card, SimpleGrid, Skeleton, Stack, Text, Title } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useState, type ReactNode } from 'react';
import { api, unwrap } from '../api/client.js';
import { Icon } from '../layout/icons.js';
import { hasEntries, Metadata } from '../layout/metadata.js';
import { Page } from '../layout/page.js';
import { useAccount, useCan, type Account } from '../session/accounts.js';
import { Failure } from '../words/failure.js';
import { LIMIT_OWNERS, LIMIT_PERIODS, useLimitLabels } from '../words/limits.js';
import { useFormats } from '../words/times.js';

const AccountDialog = lazy(async () => ({
  default: (await import('../platform/account-dialog.js')).AccountDialog,
}));

const DeleteAccountDialog = lazy(async () => ({
  default: (await import('../platform/delete-account-dialog.js')).DeleteAccountDialog,
}));

export function AccountPage() {
  const { t } = useLingui();
  const account = useAccount();
  const may = useCan();
  const { date } = useFormats(account.time_zone);
  const day = account.billing_day;
  return (
    <Page
      title={t`Account`}
      description={
        may('updateAccount') ? (
          <Trans>Plan and account settings.</Trans>
        ) : (
          <Trans>Plan and account settings. Contact your API provider to change them.</Trans>
        )
      }
      actions={
        <>
          {may('deleteAccount') && <DeleteButton account={account} />}
          {may('updateAccount') && <EditButton account={account} />}
        </>
      }
    >
      <Card>
        <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="lg">
          <Fact label={t`Name`}>
            <span className="name">{account.name}</span>
          </Fact>
          <Fact label={t`Status`}>
            <Badge variant="light" color={account.status === 'active' ? 'river' : 'orange'}>
              {account.status === 'active' ? t`Active` : t`Suspended`}
            </Badge>
          </Fact>
          <Fact label={t`Plan`}>
            <span className="name">{account.plan}</span>
          </Fact>
          <Fact label={t`Time zone`}>{account.time_zone}</Fact>
          <Fact label={t`Billing cycle starts`}>
            <Trans>on day {day}</Trans>
          </Fact>
          <Fact label={t`Customer since`}>{date(account.created_at)}</Fact>
          {account.external_id !== null && (
            <Fact label={t`External ID`}>
              <span className="name">{account.external_id}</span>
            </Fact>
          )}
          {hasEntries(account.metadata) && (
            <Fact label={t`Metadata`}>
              <Metadata entries={account.metadata} />
            </Fact>
          )}
        </SimpleGrid>
      </Card>
      <Limits />
    </Page>
  );
}

/** EditButton opens the dialog in which operators edit the account. The first click loads the code of the dialog. */
function EditButton({ account }: { readonly account: Account }) {
  const [isOpen, setOpen] = useState(false);
  const [wasOpen, setWasOpen] = useState(false);
  return (
    <>
      <Button
        variant="default"
        leftSection={<Icon name="pencil" size={16} />}
        onClick={() => {
          setWasOpen(true);
          setOpen(true);
        }}
      >
        <Trans>Edit</Trans>
      </Button>
      {wasOpen && (
        <Suspense>
          <AccountDialog account={account} opened={isOpen} onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  );
}

/**
 * DeleteButton opens the dialog in which operators delete the account. The first click loads the code of the dialog.
 */
function DeleteButton({ account }: { readonly account: Account }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button variant="light" color="red" onClick={() => setOpen(true)}>
        <Trans>Delete</Trans>
      </Button>
      {isOpen && (
        <Suspense>
          <DeleteAccountDialog account={account} opened onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  );
}

function Limits() {
  const { t } = useLingui();
  const words = useLimitLabels();
  const account = useAccount();
  const { number } = useFormats();
  const plans = useQuery({
    queryKey: ['plans'],
    queryFn: () => unwrap(api.GET('/admin/v1/plans')),
    staleTime: 300_000,
  });
  if (plans.error !== null) return <Failure error={plans.error} again={() => void plans.refetch()} />;
  if (plans.data === undefined) return <Skeleton h={160} radius="lg" />;
  const plan = plans.data.data.find(({ name }) => name === account.plan);
  if (plan === undefined) return null;
  const limit = (value: number | null): string => (value === null ? t`no limit` : number(value));
  return (
    <Card>
      <Title order={2} pb="md">
        <Trans>Plan limits</Trans>
      </Title>
      <SimpleGrid cols={{ base: 1, sm: 3 }} spacing="lg">
        {LIMIT_OWNERS.flatMap((owner) =>
          LIMIT_PERIODS.map((period) => (
            <Fact key={`${owner}-${period}`} label={words[period].plan[owner]}>
              {limit(plan[owner][period])}
            </Fact>
          )),
        )}
      </SimpleGrid>
    </Card>
  );
}

function Fact({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  return (
    <Stack gap={4}>
      <Text size="sm" c="dimmed">
        {label}
      </Text>
      <Text component="div">{children}</Text>
    </Stack>
  );
}
