/** Page of one logged request: operation, response, key, duration and, for an error, the reason. */
import { Alert, Anchor, Card, Code, Group, SimpleGrid, Skeleton, Stack, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import type { ReactNode } from 'react';
import { Link, useParams } from 'wouter';
import { Icon } from '../layout/icons.js';
import { Page } from '../layout/page.js';
import { useAccount } from '../session/accounts.js';
import { useCodeText } from '../words/codes.js';
import { Failure } from '../words/failure.js';
import { ResponseStatus } from '../words/response-status.js';
import { useFormats } from '../words/times.js';
import { useRequest, type RequestDetail } from './logs.js';

export function RequestPage() {
  const { t } = useLingui();
  const { id } = useAccount();
  const { request: requestId = '' } = useParams<{ request: string }>();
  const request = useRequest(id, decodeURIComponent(requestId));
  if (request.data !== undefined) return <RequestDetails request={request.data} />;
  return (
    <Page title={t`Request`} above={<BackLink />}>
      {request.error === null ? (
        <Skeleton h={240} radius="lg" />
      ) : (
        <Failure error={request.error} again={() => void request.refetch()} />
      )}
    </Page>
  );
}

function BackLink() {
  const { id } = useAccount();
  return (
    <Anchor component={Link} href={`/${id}/logs`} size="sm" className="back">
      <Icon name="left" size={16} />
      <Trans>All requests</Trans>
    </Anchor>
  );
}

function RequestDetails({ request }: { readonly request: RequestDetail }) {
  const { t } = useLingui();
  const { id, time_zone: timeZone } = useAccount();
  const { time, number } = useFormats(timeZone);
  return (
    <Page
      title={`${request.method} ${request.route ?? request.operation ?? ''}`}
      above={<BackLink />}
      description={
        <Group gap="sm" component="span">
          <ResponseStatus status={request.status} />
          <span>{time(request.at)}</span>
        </Group>
      }
    >
      <FailureReason request={request} />
      <Card>
        <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="md">
          <Fact label={t`Key`}>
            <Anchor component={Link} href={`/${id}/api-keys/${request.api_key_id}`} className="name">
              {request.api_key_name ?? request.api_key_id}
            </Anchor>
          </Fact>
          <Fact label={t`IP address`}>{request.ip}</Fact>
          {request.tool !== null && (
            <Fact label={t`Called by an assistant with the tool`}>
              <Code className="name">{request.tool}</Code>
            </Fact>
          )}
          <Fact label={t`Duration`}>
            <Trans>{number(Math.round(request.duration_ms))} ms</Trans>
          </Fact>
          <Fact label={t`Request / response size`}>
            <Trans>
              {number(request.bytes_in)} / {number(request.bytes_out)} bytes
            </Trans>
          </Fact>
          <Fact label={t`Request ID`}>
            <Code className="name">{request.request_id}</Code>
          </Fact>
          {request.weight > 1 && (
            <Fact label={t`Represents`}>
              <Trans>{number(request.weight)} similar requests (sampled)</Trans>
            </Fact>
          )}
        </SimpleGrid>
      </Card>
    </Page>
  );
}

/**
 * FailureReason explains why the request failed, and whether it would fail now. Renders nothing for requests without
 * error code.
 */
function FailureReason({ request }: { readonly request: RequestDetail }) {
  const { t } = useLingui();
  const words = useCodeText();
  if (request.code === null) return null;
  const codeWords = words(request.code);
  const verdict = request.explanation?.answer;
  return (
    <Alert color={request.status >= 500 ? 'red' : 'orange'} variant="light" title={codeWords?.means ?? request.code}>
      <Stack gap={6}>
        {codeWords !== undefined && <Text size="sm">{codeWords.advice}</Text>}
        {verdict !== undefined && (
          <Text size="sm">{verdict.admitted ? t`It would succeed now.` : t`It would still be rejected now.`}</Text>
        )}
        <Code w="fit-content">{request.code}</Code>
      </Stack>
    </Alert>
  );
}

function Fact({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  return (
    <Stack gap={2}>
      <Text size="sm" c="dimmed">
        {label}
      </Text>
      <Text component="div">{children}</Text>
    </Stack>
  );
}
