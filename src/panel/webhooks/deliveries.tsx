/**
 * Section with the deliveries of a webhook endpoint, newest first, and a button that opens the dialog to resend many of
 * them.
 */
import { Anchor, Button, Group, Select, Skeleton, Stack, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useEffect, useState } from 'react';
import { Link } from 'wouter';
import { Section } from '../layout/section.js';
import { ShowMore } from '../layout/show-more.js';
import { useAccount, useCan } from '../session/accounts.js';
import { Failure } from '../words/failure.js';
import { ResponseStatus } from '../words/response-status.js';
import { useFormats } from '../words/times.js';
import { ReplayDialog } from './replay-dialog.js';
import { DeliveryState, useDeliveryLabels, useErrorText } from './webhook-labels.js';
import {
  useDeliveries,
  useNewestDeliveries,
  withNewest,
  type Delivery,
  type DeliveryStatus,
  type Endpoint,
} from './webhooks.js';

export function Deliveries({ endpoint }: { readonly endpoint: Endpoint }) {
  const { t } = useLingui();
  const may = useCan();
  const words = useDeliveryLabels();
  const [status, setStatus] = useState<DeliveryStatus | null>(null);
  const [isReplaying, setReplaying] = useState(false);
  return (
    <Section
      title={t`Deliveries`}
      description={<Trans>All events and their delivery attempts. You can resend any of them.</Trans>}
      actions={
        <>
          <Select
            w={220}
            aria-label={t`Status`}
            allowDeselect={false}
            data={[
              { value: '', label: t`All statuses` },
              ...(['failed', 'pending', 'succeeded'] as const).map((value) => ({ value, label: words[value] })),
            ]}
            value={status ?? ''}
            onChange={(value) => setStatus(value === '' ? null : (value as DeliveryStatus))}
          />
          {may('replayWebhookDeliveries') && endpoint.status === 'enabled' && (
            <Button variant="default" onClick={() => setReplaying(true)}>
              <Trans>Resend events</Trans>
            </Button>
          )}
        </>
      }
    >
      <DeliveryList endpoint={endpoint} status={status} />
      <ReplayDialog shown={endpoint} opened={isReplaying} onClose={() => setReplaying(false)} />
    </Section>
  );
}

/**
 * DeliveryList loads deliveries page by page. It polls only the newest deliveries, and merges them with the loaded
 * pages.
 */
function DeliveryList({ endpoint, status }: { readonly endpoint: Endpoint; readonly status: DeliveryStatus | null }) {
  const deliveries = useDeliveries(endpoint.id, status);
  // False while the list still shows the deliveries of the previous status filter.
  const isCurrent = deliveries.isSuccess && !deliveries.isPlaceholderData;
  const newest = useNewestDeliveries(endpoint.id, status, isCurrent);
  const loaded = deliveries.data?.pages.flatMap(({ data }) => data) ?? [];
  const merged = isCurrent && newest.data !== undefined ? withNewest(newest.data, loaded) : loaded;
  const { refetch } = deliveries;
  useEffect(() => {
    // Deliveries between the polled and the loaded deliveries may be missing. Load the list again.
    if (merged === null) void refetch();
  }, [merged, refetch]);
  if (deliveries.data === undefined)
    return deliveries.error === null ? (
      <Skeleton h={120} radius="lg" />
    ) : (
      <Failure error={deliveries.error} again={() => void deliveries.refetch()} />
    );
  const rows = merged ?? newest.data?.data ?? loaded;
  const error = deliveries.error ?? newest.error;
  return (
    <Stack gap="md">
      {error !== null && <Failure error={error} again={() => void Promise.all([refetch(), newest.refetch()])} />}
      {rows.length === 0 ? (
        <Text c="dimmed">
          {status === null ? <Trans>No deliveries yet.</Trans> : <Trans>No deliveries with this status.</Trans>}
        </Text>
      ) : (
        <Stack gap={0} component="ul" className="plain-list flush">
          {rows.map((delivery) => (
            <Row key={delivery.id} delivery={delivery} />
          ))}
        </Stack>
      )}
      <ShowMore list={deliveries} />
    </Stack>
  );
}

function Row({ delivery }: { readonly delivery: Delivery }) {
  const { t } = useLingui();
  const { id, time_zone: timeZone } = useAccount();
  const { time, relative } = useFormats(timeZone);
  const errorWords = useErrorText();
  const last = delivery.last_attempt;
  const next = delivery.next_attempt_at === null ? '' : relative(delivery.next_attempt_at);
  return (
    <li className="line">
      <Group justify="space-between" gap="sm" wrap="nowrap" align="flex-start">
        <div>
          <Anchor
            component={Link}
            href={`/${id}/webhooks/${delivery.endpoint_id}/deliveries/${delivery.id}`}
            size="sm"
            fw={600}
            ff="monospace"
            className="name"
          >
            {delivery.type ?? delivery.event_id}
          </Anchor>
          <Text size="sm" c="dimmed">
            {delivery.kind === 'test' && t`Test`}
            {delivery.kind === 'test' && ' · '}
            {time(delivery.created_at)}
            {delivery.is_held && (
              <>
                {' · '}
                <Trans>waiting for an earlier event of the same object</Trans>
              </>
            )}
            {next !== '' && (
              <>
                {' · '}
                <Trans>next attempt {next}</Trans>
              </>
            )}
            {last !== null && last.error !== null && ` · ${errorWords(last.error)}`}
          </Text>
        </div>
        <Group gap="xs" wrap="nowrap" style={{ flexShrink: 0 }}>
          {last !== null && last.status_code !== null && <ResponseStatus status={last.status_code} />}
          <DeliveryState delivery={delivery} />
        </Group>
      </Group>
    </li>
  );
}
