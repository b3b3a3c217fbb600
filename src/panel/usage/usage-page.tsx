/**
 * Page with the usage of an account in the current billing month: its limits, and its requests by day, key and
 * operation.
 */
import { Alert, Anchor, Box, Button, Card, Group, Skeleton, Table, Text, Title } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { useKeys } from '../api-keys/keys.js';
import { Empty } from '../layout/empty.js';
import { Icon } from '../layout/icons.js';
import { Page } from '../layout/page.js';
import { useAccount, useCan } from '../session/accounts.js';
import { Failure } from '../words/failure.js';
import { useFormats } from '../words/times.js';
import { Windows } from './windows.js';
import { Adjustments } from './adjustments.js';
import { DAY_COLORS, DayChart, type Day } from './day-chart.js';
import { csvAddress, outcomeOf, useUsage, type UsageGroup, type Usage, type UsageRow } from './usage.js';

export function UsagePage() {
  const { t } = useLingui();
  const { id } = useAccount();
  const may = useCan();
  const usage = useUsage(id, ['day', 'outcome']);
  return (
    <Page
      title={t`Usage`}
      description={<Trans>Requests this month against your plan's limits.</Trans>}
      actions={
        <Button
          component="a"
          href={csvAddress(id, ['day', 'api_key', 'operation', 'outcome'])}
          download
          variant="default"
          leftSection={<Icon name="download" size={16} />}
        >
          <Trans>Export CSV</Trans>
        </Button>
      }
    >
      {usage.error !== null && <Failure error={usage.error} again={() => void usage.refetch()} />}
      {usage.data === undefined && usage.error === null && <Skeleton h={320} radius="lg" />}
      {usage.data !== undefined && (
        <>
          {usage.data.approximate === true && (
            <Alert color="orange" variant="light">
              <Trans>The counters are unavailable. The numbers may be too low.</Trans>
            </Alert>
          )}
          <Windows usage={usage.data} />
          <Days usage={usage.data} />
          <ByKey />
          <ByOperation />
          {may('listQuotaAdjustments') && <Adjustments />}
        </>
      )}
    </Page>
  );
}

/** Numbers of requests by result, as in `Outcome`. */
interface Sums {
  readonly worked: number;
  readonly failed: number;
  readonly refused: number;
}

/**
 * Groups rows by the result of `keyOf`, and sums their requests. The groups have the order in which they first appear.
 * Skips rows that do not count requests.
 */
function sumsBy(rows: readonly UsageRow[], keyOf: (row: UsageRow) => string): ReadonlyMap<string, Sums> {
  const sums = new Map<string, Sums>();
  for (const row of rows) {
    const outcome = outcomeOf(row);
    if (outcome === null) continue;
    const before = sums.get(keyOf(row)) ?? { worked: 0, failed: 0, refused: 0 };
    sums.set(keyOf(row), { ...before, [outcome]: before[outcome] + row.requests });
  }
  return sums;
}

const NO_REQUESTS: Sums = { worked: 0, failed: 0, refused: 0 };
const DAY_MS = 86_400_000;

/**
 * Returns the days of the billing month, including future days and days without requests. Empty if the usage has no
 * dates.
 */
function daysOf({ from, to, windows }: Usage): string[] {
  if (from === undefined || to === undefined) return [];
  const month = windows.find(({ policy }) => policy.endsWith('month'));
  const end = month === undefined ? to : new Date(new Date(month.resets_at).getTime() - 1).toISOString().slice(0, 10);
  const days: string[] = [];
  for (let at = new Date(`${from}T12:00:00Z`).getTime(); days.length < 40; at += DAY_MS) {
    const day = new Date(at).toISOString().slice(0, 10);
    if (day > end) break;
    days.push(day);
  }
  return days;
}

const total = ({ worked, failed, refused }: Sums): number => worked + failed + refused;

function Days({ usage }: { readonly usage: Usage }) {
  const { t } = useLingui();
  const { date } = useFormats('UTC');
  const counted = sumsBy(usage.data ?? [], ({ day }) => day ?? '');
  const days: Day[] = daysOf(usage).map((day) => ({ day, ...(counted.get(day) ?? NO_REQUESTS) }));
  if (counted.size === 0)
    return <Empty icon="usage" title={t`No usage yet`} text={t`Usage will appear here once a key is used.`} />;
  const newest = new Map([...counted].toReversed().map(([day, sums]) => [date(`${day}T12:00:00Z`), sums]));
  return (
    <Section title={t`By day`} groups={['day', 'outcome']}>
      <Group gap="lg" pb="sm">
        <Legend color={DAY_COLORS.worked} label={t`Successful`} />
        <Legend color={DAY_COLORS.failed} label={t`Failed`} />
        <Legend color={DAY_COLORS.refused} label={t`Blocked (limit or key)`} />
      </Group>
      <DayChart days={days} />
      <SumsTable groupLabel={t`Day`} sums={newest} asGiven />
    </Section>
  );
}

function Legend({ color, label }: { readonly color: string; readonly label: string }) {
  return (
    <Group gap={6} wrap="nowrap">
      <Box w={10} h={10} bg={color} bdrs={3} style={{ flexShrink: 0 }} />
      <Text size="sm">{label}</Text>
    </Group>
  );
}

function ByKey() {
  const { t } = useLingui();
  const { id } = useAccount();
  const usage = useUsage(id, ['api_key', 'outcome']);
  const keys = useKeys(id, { sort: 'last_used', order: 'desc' });
  const names = new Map(keys.data?.pages.flatMap(({ data }) => data.map((key) => [key.id, key.name] as const)));
  if (usage.error !== null && usage.data === undefined)
    return <Failure error={usage.error} again={() => void usage.refetch()} />;
  const sums = sumsBy(usage.data?.data ?? [], ({ api_key_id: key }) => key ?? '');
  if (sums.size === 0) return null;
  return (
    <Section title={t`By key`} groups={['api_key', 'outcome']} hasMore={usage.data?.has_more}>
      <SumsTable
        groupLabel={t`Key`}
        sums={sums}
        label={(key) => (
          <Anchor component={Link} href={`/${id}/api-keys/${key}`} size="sm" className="name">
            {names.get(key) ?? key}
          </Anchor>
        )}
      />
    </Section>
  );
}

function ByOperation() {
  const { t } = useLingui();
  const { id } = useAccount();
  const usage = useUsage(id, ['operation', 'outcome']);
  if (usage.error !== null && usage.data === undefined)
    return <Failure error={usage.error} again={() => void usage.refetch()} />;
  const sums = sumsBy(usage.data?.data ?? [], ({ operation }) => operation ?? '–');
  if (sums.size === 0) return null;
  return (
    <Section title={t`By operation`} groups={['operation', 'outcome']} hasMore={usage.data?.has_more}>
      <SumsTable groupLabel={t`Operation`} sums={sums} />
    </Section>
  );
}

interface SectionProps {
  readonly title: string;
  readonly groups: readonly UsageGroup[];
  /** Whether rows are missing. The section then refers to the CSV file. */
  readonly hasMore?: boolean | undefined;
  readonly children: ReactNode;
}

function Section({ title, groups, hasMore = false, children }: SectionProps) {
  const { t } = useLingui();
  const { id } = useAccount();
  return (
    <Card>
      <Group justify="space-between" pb="md">
        <Title order={2}>{title}</Title>
        <Anchor href={csvAddress(id, groups)} download size="sm" aria-label={t`CSV: ${title}`}>
          CSV
        </Anchor>
      </Group>
      {hasMore && (
        <Text size="sm" c="dimmed" pb="sm">
          <Trans>This table is incomplete. The CSV contains all rows.</Trans>
        </Text>
      )}
      {children}
    </Card>
  );
}

interface SumsTableProps {
  readonly groupLabel: string;
  readonly sums: ReadonlyMap<string, Sums>;
  readonly label?: (name: string) => ReactNode;
  /**
   * Whether rows keep the order of `sums`. By default, the table sorts rows by their number of requests, highest first.
   */
  readonly asGiven?: boolean;
}

/**
 * SumsTable shows sums as a table. On phones, the table is a CSS grid. Browsers drop the native roles of tables in a
 * grid, so the component sets the roles explicitly.
 */
function SumsTable({ groupLabel, sums, label = (name) => name, asGiven = false }: SumsTableProps) {
  const { number } = useFormats();
  const rows = asGiven ? [...sums] : [...sums].toSorted(([, one], [, other]) => total(other) - total(one));
  return (
    <Box className="sums" tabIndex={0} role="region" aria-label={groupLabel}>
      <Table fz="sm" verticalSpacing="xs" role="table">
        <Table.Thead role="rowgroup">
          <Table.Tr role="row">
            <Table.Th role="columnheader">{groupLabel}</Table.Th>
            <Table.Th ta="end" role="columnheader">
              <Trans>Requests</Trans>
            </Table.Th>
            <Table.Th ta="end" role="columnheader">
              <Trans>Failed</Trans>
            </Table.Th>
            <Table.Th ta="end" role="columnheader">
              <Trans>Blocked</Trans>
            </Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody role="rowgroup">
          {rows.map(([name, each]) => (
            <Table.Tr key={name} role="row">
              <Table.Td className="name" role="cell">
                {label(name)}
              </Table.Td>
              <Table.Td ta="end" role="cell">
                {number(total(each))}
              </Table.Td>
              <Table.Td ta="end" role="cell">
                {number(each.failed)}
              </Table.Td>
              <Table.Td ta="end" role="cell">
                {number(each.refused)}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Box>
  );
}
