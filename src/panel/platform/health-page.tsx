/**
 * Page that shows operators the health of the installation: components, counters, gateways, backends and deprecated
 * operations.
 */
import { Alert, Badge, Group, Skeleton, Stack, Text } from '@mantine/core';
import { Plural, Trans, useLingui } from '@lingui/react/macro';
import { useQuery } from '@tanstack/react-query';
import type { components } from '../api/admin-api.js';
import { api, unwrap } from '../api/client.js';
import { pollEvery } from '../api/polling.js';
import { Page } from '../layout/page.js';
import { Section } from '../layout/section.js';
import { Failure } from '../words/failure.js';
import { useFormats } from '../words/times.js';
import { DeprecatedCalls } from './deprecated-calls.js';
import { usePlans } from './accounts.js';
import { Targets } from './targets.js';

type Health = components['schemas']['Health'];
type Check = Health['checks'][number];

/** Polling interval, in milliseconds. Gateways report their status every two to six seconds. */
const POLL_MS = 5_000;
/** Maximum age of a gateway's last status report, in seconds. For older reports, the page shows a warning. */
const MAX_HEARTBEAT_AGE_SECONDS = 10;

export function HealthPage() {
  const { t } = useLingui();
  const health = useQuery({
    queryKey: ['health'],
    queryFn: () => unwrap(api.GET('/admin/v1/health')),
    refetchInterval: pollEvery(POLL_MS),
  });
  return (
    <Page title={t`Health`} description={<Trans>System status. Updates every few seconds.</Trans>}>
      {health.error !== null && <Failure error={health.error} again={() => void health.refetch()} />}
      {health.isPending && <Skeleton h={200} radius="lg" />}
      {health.data !== undefined && (
        <>
          <Checks health={health.data} />
          <QuotaMode health={health.data} />
          <Gateways health={health.data} />
        </>
      )}
      <Targets />
      <DeprecatedCalls />
    </Page>
  );
}

/**
 * Returns a function that returns the label of a health check. For an unknown check, that function returns the name of
 * the check.
 */
function useCheckLabel(): (name: string) => string {
  const { t } = useLingui();
  const words: Readonly<Record<string, string>> = {
    process: t`This process`,
    database: t`Database`,
    quota_store: t`Counters`,
    log: t`Log`,
    workers: t`Worker processes`,
    backends: t`Backends`,
    gateways: t`Gateways`,
  };
  return (name) => words[name] ?? name;
}

function Checks({ health }: { readonly health: Health }) {
  const { t } = useLingui();
  const words = useCheckLabel();
  const failing = health.checks.filter(({ status }) => status !== 'pass');
  return (
    <Section title={t`Components`}>
      <Stack gap="md">
        {failing.map(({ name, status, detail }) => (
          <Alert
            key={name}
            color={status === 'fail' ? 'red' : 'orange'}
            variant="light"
            role="alert"
            title={t`Something is wrong: ${words(name)}`}
          >
            <Text size="sm" className="name" lang="en">
              {detail}
            </Text>
          </Alert>
        ))}
        <Group gap="sm">
          {health.checks.map((check) => (
            <CheckBadge key={check.name} check={check} label={words(check.name)} />
          ))}
        </Group>
      </Stack>
    </Section>
  );
}

function CheckBadge({ check, label }: { readonly check: Check; readonly label: string }) {
  const { t } = useLingui();
  const words = { pass: t`operational`, warn: t`degraded`, fail: t`down` };
  const color = { pass: 'river', warn: 'orange', fail: 'red' }[check.status];
  return (
    <Badge variant="light" size="lg" color={color}>
      {label}: {words[check.status]}
    </Badge>
  );
}

/**
 * QuotaMode shows where data and counters are stored. With Redis, it also shows how each plan behaves while Redis is
 * unavailable.
 */
function QuotaMode({ health }: { readonly health: Health }) {
  const { t } = useLingui();
  const plans = usePlans();
  const words = {
    local: t`each gateway counts separately`,
    open: t`all requests are allowed`,
    closed: t`all requests are rejected`,
  };
  const stores = { sqlite: 'SQLite', postgres: 'PostgreSQL' } as const;
  return (
    <Section
      title={t`Stores and limits`}
      description={
        health.counters === 'redis' ? (
          <Trans>All gateways share their counters in Redis.</Trans>
        ) : (
          <Trans>Limits are kept in memory. Run a single gateway, or set REDIS_URL.</Trans>
        )
      }
    >
      <Stack gap={6}>
        <Text>
          <Trans>Accounts, keys and usage are kept in {stores[health.database]}.</Trans>
        </Text>
        {health.counters === 'redis' &&
          plans.data?.data.map(({ name, on_redis_loss: mode }) => (
            <Text key={name} size="sm" className="name">
              <Trans>
                Without Redis, plan {name}: {words[mode]}
              </Trans>
            </Text>
          ))}
      </Stack>
    </Section>
  );
}

function Gateways({ health }: { readonly health: Health }) {
  const { t } = useLingui();
  const { relative, number } = useFormats();
  const versions = new Set([health.version, ...health.nodes.map(({ version }) => version ?? '?')]);
  return (
    <Section
      title={t`Gateways and versions`}
      description={
        versions.size > 1 ? (
          <Trans>More than one version is running. After a rolling restart there should be one.</Trans>
        ) : (
          <Trans>All gateways run {health.version}.</Trans>
        )
      }
    >
      {health.nodes.length === 0 && (
        <Text size="sm" c="dimmed">
          <Trans>No gateways reported in the last minute.</Trans>
        </Text>
      )}
      <Stack gap={0} component="ul" className="plain-list flush">
        {health.nodes.map((node) => {
          const age = number(Math.round(node.age_seconds));
          return (
            <li className="line" key={node.node}>
              <Group justify="space-between" gap="sm">
                <div>
                  <Text fw={600} className="name">
                    {node.node}
                  </Text>
                  <Text size="sm" c="dimmed">
                    {node.version === null ? t`version not known` : t`version ${node.version}`} ·{' '}
                    <Plural value={node.processes} one="# process" other="# processes" />
                  </Text>
                </div>
                <Group gap="xs">
                  {node.quota_store_lost_since !== null && (
                    <Badge variant="light" color="orange">
                      {t`counters lost ${relative(node.quota_store_lost_since)}`}
                    </Badge>
                  )}
                  <Badge variant="light" color={node.age_seconds > MAX_HEARTBEAT_AGE_SECONDS ? 'orange' : 'river'}>
                    {node.age_seconds > MAX_HEARTBEAT_AGE_SECONDS ? t`no report for ${age} s` : t`online`}
                  </Badge>
                </Group>
              </Group>
            </li>
          );
        })}
      </Stack>
    </Section>
  );
}
