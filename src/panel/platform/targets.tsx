/**
 * Section of the health page that shows operators the backend targets. Each target has its worst state over all
 * gateways.
 */
import { Badge, Group, Skeleton, Stack, Text } from '@mantine/core';
import { Plural, Trans, useLingui } from '@lingui/react/macro';
import { useQuery } from '@tanstack/react-query';
import type { components } from '../api/admin-api.js';
import { api, unwrap } from '../api/client.js';
import { pollEvery } from '../api/polling.js';
import { Section } from '../layout/section.js';
import { Failure } from '../words/failure.js';
import { useFormats } from '../words/times.js';

type Target = components['schemas']['Target'];

/** Polling interval, in milliseconds. */
const POLL_MS = 5_000;
const COLORS = { healthy: 'river', failing: 'red', ejected: 'orange', unhealthy: 'red' } as const;

export function Targets() {
  const { t } = useLingui();
  const targets = useQuery({
    queryKey: ['targets'],
    queryFn: () => unwrap(api.GET('/admin/v1/targets')),
    refetchInterval: pollEvery(POLL_MS),
  });
  return (
    <Section
      title={t`Targets`}
      description={<Trans>Backends. Targets that keep failing are taken out temporarily.</Trans>}
    >
      {targets.error !== null && <Failure error={targets.error} again={() => void targets.refetch()} />}
      {targets.isPending && <Skeleton h={80} />}
      {targets.isSuccess && targets.data.data.length === 0 && (
        <Text size="sm" c="dimmed">
          <Trans>No targets reported yet.</Trans>
        </Text>
      )}
      <Stack gap={0} component="ul" className="plain-list flush">
        {targets.data?.data.map((target) => (
          <Line key={`${target.service} ${target.target} ${target.address}`} target={target} />
        ))}
      </Stack>
    </Section>
  );
}

function Line({ target }: { readonly target: Target }) {
  const { t } = useLingui();
  const { relative } = useFormats();
  const words = {
    healthy: t`healthy`,
    failing: t`calls fail`,
    ejected: t`removed`,
    unhealthy: t`failing health checks`,
  };
  const { service, state, address, last_failure: failure, in_flight: inFlight, ejected_until: until } = target;
  return (
    <li className="line">
      <Group justify="space-between" gap="sm">
        <div>
          <Text fw={600} className="name">
            {target.target}
          </Text>
          <Text size="sm" c="dimmed" className="name">
            {service}
            {address !== null && ` · ${address}`} · <Plural value={inFlight} one="# in flight" other="# in flight" />
          </Text>
          {failure !== null && (
            <Text size="sm" c="dimmed" className="name">
              <Trans>
                Last failure {relative(failure.at)}: {failure.outcome}
              </Trans>
              {failure.backend_status !== null && ` (${failure.backend_status})`}
            </Text>
          )}
        </div>
        <Badge variant="light" color={COLORS[state]}>
          {words[state]}
          {until !== null && ` (${relative(until)})`}
        </Badge>
      </Group>
    </li>
  );
}
