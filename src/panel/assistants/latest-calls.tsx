/**
 * Section that lists the recent tool calls of assistants. Each call links to its page in the logs, which explains a
 * failure.
 */
import { Anchor, Group, Skeleton, Stack, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { Link } from 'wouter';
import { Section } from '../layout/section.js';
import type { LoggedRequest } from '../logs/logs.js';
import { useAccount } from '../session/accounts.js';
import { Failure } from '../words/failure.js';
import { ResponseStatus } from '../words/response-status.js';
import { Ago } from '../words/times.js';
import { useLatestCalls } from './assistants.js';

const MAX_CALLS = 10;

export function LatestCalls() {
  const { t } = useLingui();
  const { id } = useAccount();
  const calls = useLatestCalls(id);
  return (
    <Section title={t`Recent calls`} description={<Trans>Each call counts as one API request.</Trans>}>
      {calls.data === undefined ? (
        calls.error === null ? (
          <Skeleton h={80} />
        ) : (
          <Failure error={calls.error} again={() => void calls.refetch()} />
        )
      ) : (
        <Calls requests={calls.data.data} />
      )}
    </Section>
  );
}

function Calls({ requests }: { readonly requests: readonly LoggedRequest[] }) {
  // Requests without a tool are protocol messages, such as connecting or listing tools.
  const calls = requests.filter(({ tool }) => tool !== null).slice(0, MAX_CALLS);
  if (calls.length === 0)
    return (
      <Text c="dimmed">
        {requests.length === 0 ? (
          <Trans>No calls yet.</Trans>
        ) : (
          <Trans>An assistant connected but made no calls recently.</Trans>
        )}
      </Text>
    );
  return (
    <Stack gap={0} component="ul" className="plain-list flush">
      {calls.map((call) => (
        <Row key={call.id} request={call} />
      ))}
    </Stack>
  );
}

function Row({ request: call }: { readonly request: LoggedRequest }) {
  const { id, time_zone: timeZone } = useAccount();
  return (
    <li className="line">
      <Group justify="space-between" wrap="nowrap" align="flex-start">
        <div>
          <Anchor
            component={Link}
            href={`/${id}/logs/${encodeURIComponent(call.request_id)}`}
            size="sm"
            fw={600}
            className="name"
            translate="no"
          >
            {call.tool}
          </Anchor>
          <Text size="sm" c="dimmed" className="name">
            <bdi>{call.api_key_name ?? '–'}</bdi> · <Ago at={call.at} timeZone={timeZone} />
          </Text>
        </div>
        <ResponseStatus status={call.status} />
      </Group>
    </li>
  );
}
