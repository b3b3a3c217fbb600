/** Page of one webhook delivery: status, attempts and payload, with a button that sends the event again. */
import { Alert, Anchor, Button, Code, Group, Skeleton, Stack, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation } from '@tanstack/react-query';
import { Link, Redirect, useParams } from 'wouter';
import { Icon } from '../layout/icons.js';
import { Page } from '../layout/page.js';
import { Section } from '../layout/section.js';
import { useAccount, useCan } from '../session/accounts.js';
import { Failure } from '../words/failure.js';
import { useFormats } from '../words/times.js';
import { AttemptCard } from './attempt-card.js';
import { DeliveryState, useReasonText } from './webhook-labels.js';
import { refetchEndpoint, retryDelivery, useDelivery, type DeliveryDetail } from './webhooks.js';

export function DeliveryPage() {
  const account = useAccount();
  const { endpoint = '', delivery: id = '' } = useParams<{ endpoint: string; delivery: string }>();
  const delivery = useDelivery(id);
  if (delivery.data === undefined)
    return delivery.error === null ? (
      <Skeleton h={240} radius="lg" />
    ) : (
      <Stack>
        <BackLink endpoint={endpoint} />
        <Failure error={delivery.error} again={() => void delivery.refetch()} />
      </Stack>
    );
  const { account_id: accountId, endpoint_id: endpointId } = delivery.data;
  // The delivery belongs to another account. Redirect to the page of the delivery in that account.
  if (accountId !== account.id)
    return <Redirect to={`/${accountId}/webhooks/${endpointId}/deliveries/${id}`} replace />;
  return <DeliveryDetails delivery={delivery.data} />;
}

function BackLink({ endpoint }: { readonly endpoint: string }) {
  const { id } = useAccount();
  return (
    <Anchor component={Link} href={`/${id}/webhooks/${endpoint}`} size="sm" className="back">
      <Icon name="left" size={16} />
      <Trans>Go to endpoint</Trans>
    </Anchor>
  );
}

function DeliveryDetails({ delivery }: { readonly delivery: DeliveryDetail }) {
  const { t } = useLingui();
  const { time_zone: timeZone } = useAccount();
  const { time } = useFormats(timeZone);
  const reasonWords = useReasonText();
  const next = delivery.next_attempt_at === null ? '' : time(delivery.next_attempt_at);
  return (
    <Page
      title={delivery.type ?? t`Event expired`}
      above={<BackLink endpoint={delivery.endpoint_id} />}
      description={
        <Group gap="sm" component="span">
          <DeliveryState delivery={delivery} />
          <Code className="name">{delivery.event_id}</Code>
          {time(delivery.created_at)}
        </Group>
      }
    >
      {delivery.reason !== null && (
        <Alert color="red" variant="light">
          {reasonWords(delivery.reason)}
        </Alert>
      )}
      <Section
        title={t`Attempts`}
        description={next === '' ? undefined : <Trans>Next attempt: {next}</Trans>}
        actions={<Retry delivery={delivery} />}
      >
        {delivery.attempt_log.length === 0 ? (
          <Text c="dimmed">
            <Trans>None yet.</Trans>
          </Text>
        ) : (
          <Stack gap="lg" component="ol" className="plain-list">
            {delivery.attempt_log.toReversed().map((attempt) => (
              <li key={attempt.id}>
                <AttemptCard attempt={attempt} />
              </li>
            ))}
          </Stack>
        )}
      </Section>
      <Section title={t`Payload`}>
        {delivery.payload === null ? (
          <Text c="dimmed">
            <Trans>No longer available.</Trans>
          </Text>
        ) : (
          <Code block className="secret" tabIndex={0} translate="no">
            {delivery.payload}
          </Code>
        )}
      </Section>
    </Page>
  );
}

function Retry({ delivery }: { readonly delivery: DeliveryDetail }) {
  const may = useCan();
  const retry = useMutation({
    mutationFn: () => retryDelivery(delivery.id),
    onSettled: () => refetchEndpoint({ id: delivery.endpoint_id, account_id: delivery.account_id }),
  });
  const cannotRetry = delivery.reason === 'endpoint_deleted' || delivery.payload === null;
  if (!may('retryWebhookDelivery') || cannotRetry) return null;
  return (
    <Stack gap="sm" align="flex-end">
      <Button
        variant="default"
        leftSection={<Icon name="rotate" size={16} />}
        loading={retry.isPending}
        onClick={() => retry.mutate()}
      >
        <Trans>Send again</Trans>
      </Button>
      {retry.error !== null && <Failure error={retry.error} />}
    </Stack>
  );
}
