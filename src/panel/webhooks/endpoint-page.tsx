/**
 * Page of one webhook endpoint: status, settings and deliveries, with buttons to test, edit, rotate, pause, disable and
 * delete.
 */
import { Alert, Anchor, Button, Card, SimpleGrid, Skeleton, Stack, Text } from '@mantine/core';
import { Plural, Trans, useLingui } from '@lingui/react/macro';
import { useCallback, useState, type ReactNode } from 'react';
import { Link, Redirect, useLocation, useParams } from 'wouter';
import { Icon } from '../layout/icons.js';
import { Page } from '../layout/page.js';
import { ConfirmDialog } from '../layout/confirm-dialog.js';
import { useAccount, useCan } from '../session/accounts.js';
import { Failure } from '../words/failure.js';
import { Ago, useFormats } from '../words/times.js';
import { Deliveries } from './deliveries.js';
import { EditDialog } from './edit-dialog.js';
import { EnableDialog } from './enable-dialog.js';
import { pauseText } from './pauses.js';
import { PreviousSecrets } from './previous-secrets.js';
import { RotateDialog } from './rotate-dialog.js';
import { TestDialog } from './test-dialog.js';
import { EndpointState } from './webhook-labels.js';
import {
  deleteEndpoint,
  refetchEndpoint,
  refetchList,
  updateEndpoint,
  useEndpoint,
  type EndpointDetail,
} from './webhooks.js';

/**
 * Maximum number of pending deliveries that the API counts. At this number, the page adds a plus sign, because there
 * may be more.
 */
const MAX_COUNTED = 1_000;

export function EndpointPage() {
  const account = useAccount();
  const { endpoint: id = '' } = useParams<{ endpoint: string }>();
  const endpoint = useEndpoint(id);
  if (endpoint.data === undefined)
    return endpoint.error === null ? (
      <Skeleton h={240} radius="lg" />
    ) : (
      <Stack>
        <BackLink />
        <Failure error={endpoint.error} again={() => void endpoint.refetch()} />
      </Stack>
    );
  const { data, etag } = endpoint.data;
  // The endpoint belongs to another account. Redirect to the page of the endpoint in that account.
  if (data.account_id !== account.id) return <Redirect to={`/${data.account_id}/webhooks/${id}`} replace />;
  return <EndpointDetails shown={data} etag={etag} />;
}

function BackLink() {
  const { id } = useAccount();
  return (
    <Anchor component={Link} href={`/${id}/webhooks`} size="sm" className="back">
      <Icon name="left" size={16} />
      <Trans>All endpoints</Trans>
    </Anchor>
  );
}

type DialogName = 'test' | 'edit' | 'rotate' | 'pause' | 'enable' | 'disable' | 'delete';

function EndpointDetails({ shown, etag }: { readonly shown: EndpointDetail; readonly etag: string | null }) {
  const { t } = useLingui();
  const may = useCan();
  const [, go] = useLocation();
  const [dialog, setDialog] = useState<DialogName | null>(null);
  const close = useCallback(() => setDialog(null), []);
  const remove = async (): Promise<void> => {
    await deleteEndpoint(shown.id);
    await refetchList(shown.account_id);
    go(`/${shown.account_id}/webhooks`, { replace: true });
  };
  const change = async (status: 'paused' | 'disabled'): Promise<void> => {
    await updateEndpoint(shown.id, { status }, null);
    await refetchEndpoint(shown);
  };
  return (
    <Page
      title={shown.url}
      above={<BackLink />}
      description={<EndpointState endpoint={shown} />}
      actions={<Actions shown={shown} onOpen={setDialog} />}
    >
      <State endpoint={shown} />
      <PreviousSecrets endpoint={shown} />
      <Facts endpoint={shown} />
      {may('listWebhookDeliveries') && <Deliveries endpoint={shown} />}
      <TestDialog shown={shown} opened={dialog === 'test'} onClose={close} />
      <EditDialog shown={shown} etag={etag} opened={dialog === 'edit'} onClose={close} />
      <RotateDialog shown={shown} etag={etag} opened={dialog === 'rotate'} onClose={close} />
      <EnableDialog shown={shown} opened={dialog === 'enable'} onClose={close} />
      <ConfirmDialog
        opened={dialog === 'pause'}
        title={t`Pause this endpoint?`}
        confirmLabel={t`Pause`}
        color="river"
        onClose={close}
        onConfirm={() => change('paused')}
      >
        <Trans>Its events wait up to 30 days until you resume it. Nothing is lost.</Trans>
      </ConfirmDialog>
      <ConfirmDialog
        opened={dialog === 'disable'}
        title={t`Disable this endpoint?`}
        confirmLabel={t`Disable`}
        onClose={close}
        onConfirm={() => change('disabled')}
      >
        <Trans>Its events wait up to 30 days until an operator resumes it. The account can't.</Trans>
      </ConfirmDialog>
      <ConfirmDialog
        opened={dialog === 'delete'}
        title={t`Delete this endpoint?`}
        confirmLabel={t`Delete endpoint`}
        onClose={close}
        onConfirm={remove}
      >
        <Trans>It stops receiving events, and pending events are discarded. This can't be undone.</Trans>
      </ConfirmDialog>
    </Page>
  );
}

function Actions({ shown, onOpen }: { readonly shown: EndpointDetail; readonly onOpen: (dialog: DialogName) => void }) {
  const may = useCan();
  const mayDisable = useMayDisable();
  // Only operators can resume an endpoint that an operator disabled.
  const isLockedByOperator = shown.disabled_reason === 'operator' && !mayDisable;
  return (
    <>
      {may('testWebhookEndpoint') && (
        <Button leftSection={<Icon name="play" size={16} />} onClick={() => onOpen('test')}>
          <Trans>Send test event</Trans>
        </Button>
      )}
      {may('updateWebhookEndpoint') && (
        <Button variant="default" leftSection={<Icon name="pencil" size={16} />} onClick={() => onOpen('edit')}>
          <Trans>Edit</Trans>
        </Button>
      )}
      {may('rotateWebhookSecret') && (
        <Button variant="default" leftSection={<Icon name="rotate" size={16} />} onClick={() => onOpen('rotate')}>
          <Trans>Rotate secret</Trans>
        </Button>
      )}
      {may('updateWebhookEndpoint') && !isLockedByOperator && (
        <Button
          variant="default"
          leftSection={<Icon name={shown.status === 'enabled' ? 'pause' : 'play'} size={16} />}
          onClick={() => onOpen(shown.status === 'enabled' ? 'pause' : 'enable')}
        >
          {shown.status === 'enabled' ? <Trans>Pause</Trans> : <Trans>Resume</Trans>}
        </Button>
      )}
      {mayDisable && shown.status !== 'disabled' && (
        <Button variant="default" leftSection={<Icon name="pause" size={16} />} onClick={() => onOpen('disable')}>
          <Trans>Disable</Trans>
        </Button>
      )}
      {may('deleteWebhookEndpoint') && (
        <Button
          variant="light"
          color="red"
          leftSection={<Icon name="trash" size={16} />}
          onClick={() => onOpen('delete')}
        >
          <Trans>Delete</Trans>
        </Button>
      )}
    </>
  );
}

/**
 * Reports whether the user can disable endpoints. Only operators can. `createAccount` stands for the operator role
 * here, because only operators can call that operation.
 */
const useMayDisable = (): boolean => useCan()('createAccount');

/**
 * State renders an alert for an endpoint that is paused, disabled or failing. Renders nothing for a healthy endpoint.
 */
function State({ endpoint }: { readonly endpoint: EndpointDetail }) {
  const { time_zone: timeZone } = useAccount();
  const { status, disabled_reason: reason, failing_since: failingSince, failures, waiting } = endpoint;
  const count = useFormats().number(waiting) + (waiting >= MAX_COUNTED ? '+' : '');
  if (status === 'enabled' && failingSince === null) return null;
  return (
    <Alert color={status === 'paused' ? 'orange' : 'red'} variant="light">
      {status === 'paused' && <Trans>Paused. Its events wait up to 30 days until you resume it.</Trans>}
      {reason === 'failing' && (
        <Trans>Disabled after five days without a successful delivery. Events are kept for up to 30 days.</Trans>
      )}
      {reason === 'gone' && <Trans>Disabled after a 410 Gone response. Events are kept for up to 30 days.</Trans>}
      {reason === 'operator' && <Trans>Disabled by your API provider. Events are kept for up to 30 days.</Trans>}
      {status === 'enabled' && failingSince !== null && (
        <Trans>
          Failing since <Ago at={failingSince} timeZone={timeZone} /> (
          <Plural value={failures} one="# attempt" other="# attempts" />
          ). It will be disabled after five days without a successful delivery.
        </Trans>
      )}{' '}
      {waiting > 0 && <Trans>Pending events: {count}.</Trans>}
    </Alert>
  );
}

function Facts({ endpoint }: { readonly endpoint: EndpointDetail }) {
  const { t } = useLingui();
  const { time_zone: timeZone } = useAccount();
  const { time } = useFormats(timeZone);
  return (
    <Card>
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg" verticalSpacing="xs">
        <Fact label={t`Events to send`}>
          {endpoint.event_types.length === 0 ? (
            <Trans>All events, including future ones</Trans>
          ) : (
            <Text ff="monospace" size="sm" className="name">
              {endpoint.event_types.join(', ')}
            </Text>
          )}
        </Fact>
        <Fact label={t`Description`}>
          <span className="name">{endpoint.description || '–'}</span>
        </Fact>
        <Fact label={t`Last delivery`}>
          {endpoint.last_success_at === null ? t`Never` : <Ago at={endpoint.last_success_at} timeZone={timeZone} />}
        </Fact>
        <Fact label={t({ message: 'Created', context: 'an endpoint' })}>{time(endpoint.created_at)}</Fact>
        <Fact label={t`Ordered delivery`}>{endpoint.ordered ? t`Yes` : t`No`}</Fact>
        <Fact label={t`Delivery settings`}>
          <DeliverySettings endpoint={endpoint} />
        </Fact>
        <Fact label={t`Public key`}>
          <Text ff="monospace" size="sm" className="name" translate="no">
            {endpoint.public_keys[0]?.key ?? '–'}
          </Text>
        </Fact>
      </SimpleGrid>
    </Card>
  );
}

/** DeliverySettings shows the delivery settings that differ from the default. */
function DeliverySettings({ endpoint }: { readonly endpoint: EndpointDetail }) {
  const { t } = useLingui();
  const { number } = useFormats();
  const { retry_schedule: pauses, rate_per_second: rate, concurrency, timeout_ms: timeoutMs } = endpoint;
  const schedule = (pauses ?? []).map(pauseText).join(', ');
  const seconds = number((timeoutMs ?? 0) / 1_000);
  const most = number(rate ?? 0);
  const settings = [
    pauses !== null && (pauses.length === 0 ? t`one attempt` : t`again after ${schedule}`),
    rate !== null && t`max ${most} per second`,
    concurrency !== null && t`max ${concurrency} concurrent`,
    timeoutMs !== null && t`timeout ${seconds} s`,
  ].filter((each) => each !== false);
  return settings.length === 0 ? t`Default` : settings.join(' · ');
}

function Fact({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  return (
    <Stack gap={4} py={4}>
      <Text size="sm" c="dimmed">
        {label}
      </Text>
      <Text component="div">{children}</Text>
    </Stack>
  );
}
