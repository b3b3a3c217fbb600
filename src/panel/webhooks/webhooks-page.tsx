/** Where an account has its events sent to, and at `/webhooks/new` the dialog that adds an endpoint. */
import { Anchor, Button, Card, Group, Skeleton, Stack, Text } from '@mantine/core';
import { Plural, Trans, useLingui } from '@lingui/react/macro';
import { Link, useLocation } from 'wouter';
import { Empty } from '../layout/empty.js';
import { Icon } from '../layout/icons.js';
import { Page } from '../layout/page.js';
import { ShowMore } from '../layout/show-more.js';
import { useAccount, useMay } from '../session/accounts.js';
import { Breakable } from '../words/breakable.js';
import { Failure } from '../words/failure.js';
import { Ago } from '../words/times.js';
import { CreateDialog } from './create-dialog.js';
import { EndpointState } from './webhook-words.js';
import { useEndpoints, type Endpoint } from './webhooks.js';

export function WebhooksPage() {
  const { t } = useLingui();
  const account = useAccount();
  const may = useMay();
  const [location, go] = useLocation();
  const home = `/${account.id}/webhooks`;
  const mayCreate = may('createWebhookEndpoint');
  const create = (
    <Button component={Link} href={`${home}/new`} leftSection={<Icon name="plus" />}>
      <Trans>Add an endpoint</Trans>
    </Button>
  );
  return (
    <Page
      title={t`Webhooks`}
      about={
        <Trans>
          Your server is told of what happens on the account, within a second. What it misses is tried again for three
          days, and kept for you to send again.
        </Trans>
      }
      actions={mayCreate && create}
    >
      <Endpoints create={mayCreate ? create : null} />
      {mayCreate && <CreateDialog opened={location === `${home}/new`} onClose={() => go(home, { replace: true })} />}
    </Page>
  );
}

function Endpoints({ create }: { readonly create: React.ReactNode }) {
  const { t } = useLingui();
  const { id } = useAccount();
  const endpoints = useEndpoints(id);
  if (endpoints.data === undefined)
    return endpoints.error === null ? (
      <Skeleton h={160} radius="lg" />
    ) : (
      <Failure error={endpoints.error} again={() => void endpoints.refetch()} />
    );
  const rows = endpoints.data.pages.flatMap(({ data }) => data);
  if (rows.length === 0)
    return (
      <Empty
        icon="webhook"
        title={t`No endpoint yet`}
        text={t`Add the address at which your server takes events, then send it a test.`}
        action={create}
      />
    );
  return (
    <Stack gap="md">
      {endpoints.error !== null && <Failure error={endpoints.error} again={() => void endpoints.refetch()} />}
      <Card p={0}>
        <Stack gap={0} component="ul" className="plain-list">
          {rows.map((endpoint) => (
            <Row key={endpoint.id} of={endpoint} />
          ))}
        </Stack>
      </Card>
      <ShowMore list={endpoints} />
    </Stack>
  );
}

function Row({ of: endpoint }: { readonly of: Endpoint }) {
  const { id, time_zone: timeZone } = useAccount();
  return (
    <li className="line">
      <Group justify="space-between" gap="md" wrap="nowrap" align="flex-start">
        <div>
          <Anchor component={Link} href={`/${id}/webhooks/${endpoint.id}`} fw={600} className="name">
            <Breakable text={endpoint.url} />
          </Anchor>
          {endpoint.description !== '' && (
            <Text size="sm" className="name">
              {endpoint.description}
            </Text>
          )}
          <Text size="sm" c="dimmed">
            {endpoint.event_types.length === 0 ? (
              <Trans>All events</Trans>
            ) : (
              <Plural value={endpoint.event_types.length} one="# kind of event" other="# kinds of events" />
            )}
            {' · '}
            {endpoint.failing_since !== null ? (
              <Trans>
                Fails since <Ago at={endpoint.failing_since} timeZone={timeZone} />
              </Trans>
            ) : endpoint.last_success_at !== null ? (
              <Trans>
                Last delivery <Ago at={endpoint.last_success_at} timeZone={timeZone} />
              </Trans>
            ) : (
              <Trans>No deliveries yet</Trans>
            )}
          </Text>
        </div>
        <EndpointState of={endpoint} />
      </Group>
    </li>
  );
}
