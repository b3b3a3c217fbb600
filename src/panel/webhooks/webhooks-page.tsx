/**
 * Page that lists the webhook endpoints of an account. The path `/webhooks/new` opens the dialog that adds an endpoint.
 */
import { Anchor, Group, Text } from '@mantine/core';
import { Plural, Trans, useLingui } from '@lingui/react/macro';
import { Link } from 'wouter';
import { Empty } from '../layout/empty.js';
import { ListPage } from '../layout/list-page.js';
import { Lines, PagedList } from '../layout/paged-list.js';
import { useAccount, useCan } from '../session/accounts.js';
import { Breakable } from '../words/breakable.js';
import { Ago } from '../words/times.js';
import { CreateDialog } from './create-dialog.js';
import { EndpointState } from './webhook-labels.js';
import { useEndpoints, type Endpoint } from './webhooks.js';

export function WebhooksPage() {
  const { t } = useLingui();
  const { id } = useAccount();
  const may = useCan();
  const endpoints = useEndpoints(id);
  return (
    <ListPage
      title={t`Webhooks`}
      description={
        <Trans>
          Get notified on your server within a second of an event. Failed deliveries are retried for three days and can
          be resent.
        </Trans>
      }
      home={`/${id}/webhooks`}
      mayCreate={may('createWebhookEndpoint')}
      createLabel={t`Add endpoint`}
      dialog={(state) => <CreateDialog {...state} />}
    >
      {(create) => (
        <PagedList
          list={endpoints}
          empty={
            <Empty
              icon="webhook"
              title={t`No endpoints yet`}
              text={t`Add a URL to receive events, then send a test event.`}
              action={create}
            />
          }
        >
          {(rows) => (
            <Lines>
              {rows.map((endpoint) => (
                <Row key={endpoint.id} endpoint={endpoint} />
              ))}
            </Lines>
          )}
        </PagedList>
      )}
    </ListPage>
  );
}

function Row({ endpoint }: { readonly endpoint: Endpoint }) {
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
              <Plural value={endpoint.event_types.length} one="# event type" other="# event types" />
            )}
            {' · '}
            {endpoint.failing_since !== null ? (
              <Trans>
                Failing since <Ago at={endpoint.failing_since} timeZone={timeZone} />
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
        <EndpointState endpoint={endpoint} />
      </Group>
    </li>
  );
}
