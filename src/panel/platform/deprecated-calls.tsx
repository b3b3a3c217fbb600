/** Section of the health page that shows operators which accounts called deprecated operations in the last 7 days. */
import { Anchor, Box, Group, Skeleton, Stack, Text } from '@mantine/core';
import { Plural, Trans, useLingui } from '@lingui/react/macro';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import type { components } from '../api/admin-api.js';
import { api, unwrap } from '../api/client.js';
import { Section } from '../layout/section.js';
import { Failure } from '../words/failure.js';
import { useFormats } from '../words/times.js';

type Report = components['schemas']['DeprecatedCalls'];

export function DeprecatedCalls() {
  const { t } = useLingui();
  const calls = useQuery({
    queryKey: ['deprecated-calls'],
    queryFn: () => unwrap(api.GET('/admin/v1/deprecated-calls')),
    staleTime: 60_000,
  });
  return (
    <Section
      title={t`Deprecated operations`}
      description={<Trans>Accounts that called deprecated operations in the last 7 days.</Trans>}
    >
      {calls.error !== null && <Failure error={calls.error} again={() => void calls.refetch()} />}
      {calls.isPending && <Skeleton h={60} />}
      {calls.data !== undefined && <Operations report={calls.data} />}
    </Section>
  );
}

function Operations({ report }: { readonly report: Report }) {
  const { date } = useFormats();
  if (report.operations.length === 0)
    return (
      <Text size="sm" c="dimmed">
        <Trans>Nothing is deprecated.</Trans>
      </Text>
    );
  return (
    <Stack gap="md">
      {report.operations.map(({ operation, sunset_at: sunset }) => {
        const callers = report.callers.filter((each) => each.operation === operation);
        const end = sunset === null ? '' : date(sunset);
        return (
          <Box key={operation}>
            <Group gap="sm">
              <Text fw={600} className="name">
                {operation}
              </Text>
              <Text size="sm" c="dimmed">
                {sunset === null ? <Trans>no removal date</Trans> : <Trans>ends on {end}</Trans>}
              </Text>
            </Group>
            {callers.length === 0 && (
              <Text size="sm" c="dimmed">
                <Trans>No calls in the last 7 days.</Trans>
              </Text>
            )}
            <ul className="callers">
              {callers.map((caller) => (
                <li key={caller.account_id}>
                  <Anchor component={Link} href={`/${caller.account_id}/usage`} className="name">
                    {caller.account_name}
                  </Anchor>
                  {': '}
                  <Plural value={caller.requests} one="# request" other="# requests" />
                </li>
              ))}
            </ul>
          </Box>
        );
      })}
      {report.has_more && (
        <Text size="sm" c="dimmed">
          <Trans>Only the accounts with the most requests are listed.</Trans>
        </Text>
      )}
    </Stack>
  );
}
