/**
 * Page on which owners and admins see the recent requests of an account. Each row links to the page that explains the
 * response.
 */
import { Anchor, Button, Card, Group, Select, Stack, Switch, Table, Text, TextInput } from '@mantine/core';
import { useDebouncedValue, useMediaQuery } from '@mantine/hooks';
import { Trans, useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { Link } from 'wouter';
import { useOperations } from '../api-keys/example-url.js';
import { operationOptions } from '../api-keys/operation-options.js';
import { Empty } from '../layout/empty.js';
import { Icon } from '../layout/icons.js';
import { Page } from '../layout/page.js';
import { PagedList } from '../layout/paged-list.js';
import { useAccount } from '../session/accounts.js';
import { ResponseStatus } from '../words/response-status.js';
import { useFormats } from '../words/times.js';
import { useRequests, type LogFilter, type LoggedRequest } from './logs.js';

interface ChosenFilters {
  readonly search: string;
  readonly status: string;
  readonly operation: string | null;
  readonly isLive: boolean;
}

const DEFAULT_FILTERS: ChosenFilters = { search: '', status: '', operation: null, isLive: true };
/** Delay after the last keystroke before a search, in milliseconds. */
const SEARCH_DELAY_MS = 250;

function filterOf({ search, status, operation }: ChosenFilters): LogFilter {
  const text = search.trim();
  return {
    ...(text === '' ? {} : text.startsWith('key_') ? { api_key_id: text } : { request_id: text }),
    ...(status === '' ? {} : { status }),
    ...(operation === null ? {} : { operation }),
  };
}

export function LogsPage() {
  const { t } = useLingui();
  const [chosen, setChosen] = useState(DEFAULT_FILTERS);
  return (
    <Page
      title={t`Logs`}
      description={<Trans>Recent API requests, within seconds.</Trans>}
      actions={
        <Switch
          label={t`Live tail`}
          checked={chosen.isLive}
          onChange={(event) => setChosen({ ...chosen, isLive: event.currentTarget.checked })}
        />
      }
    >
      <Filters chosen={chosen} onChoose={(change) => setChosen({ ...chosen, ...change })} />
      <Requests chosen={chosen} onClear={() => setChosen(DEFAULT_FILTERS)} />
    </Page>
  );
}

interface FiltersProps {
  readonly chosen: ChosenFilters;
  readonly onChoose: (change: Partial<ChosenFilters>) => void;
}

function Filters({ chosen, onChoose }: FiltersProps) {
  const { t } = useLingui();
  const operations = useOperations();
  return (
    <Group gap="sm">
      <TextInput
        flex={{ base: '1 1 100%', md: '1 1 260px' }}
        type="search"
        aria-label={t`Search by request or key ID`}
        placeholder={t`Request ID or key ID`}
        leftSection={<Icon name="search" size={16} />}
        maxLength={128}
        value={chosen.search}
        onChange={(event) => onChoose({ search: event.currentTarget.value })}
      />
      <Select
        flex={{ base: '1 1 180px', md: '0 0 210px' }}
        aria-label={t`Responses`}
        allowDeselect={false}
        data={[
          { value: '', label: t`All responses` },
          { value: '2xx', label: t`Successful` },
          { value: 'error', label: t`All errors` },
          { value: '4xx', label: t`Client errors (4xx)` },
          { value: '5xx', label: t`Server errors (5xx)` },
        ]}
        value={chosen.status}
        onChange={(status) => onChoose({ status: status ?? '' })}
      />
      <Select
        flex={{ base: '1 1 180px', md: '0 0 220px' }}
        aria-label={t`Operation`}
        placeholder={t`All operations`}
        clearable
        searchable
        clearButtonProps={{ 'aria-label': t`All operations` }}
        data={operationOptions(operations.data?.data ?? [])}
        value={chosen.operation}
        onChange={(operation) => onChoose({ operation })}
      />
    </Group>
  );
}

function Requests({ chosen, onClear }: { readonly chosen: ChosenFilters; readonly onClear: () => void }) {
  const { t } = useLingui();
  const { id, time_zone: timeZone } = useAccount();
  const { date } = useFormats(timeZone);
  const [filter] = useDebouncedValue(filterOf(chosen), SEARCH_DELAY_MS);
  const requests = useRequests(id, filter, chosen.isLive);
  const isWide = useMediaQuery('(min-width: 62em)', undefined, { getInitialValueInEffect: false });
  const keptSince = requests.data?.pages[0]?.kept_since ?? null;
  const since = keptSince === null ? '' : date(keptSince);
  return (
    <PagedList
      list={requests}
      empty={
        Object.keys(filter).length === 0 ? (
          <Empty
            icon="logs"
            title={t`No requests yet`}
            text={t`Requests will appear here once a key is used.`}
            action={
              <Button component={Link} href={`/${id}/api-keys`} variant="default">
                <Trans>Go to API keys</Trans>
              </Button>
            }
          />
        ) : (
          <Empty
            icon="search"
            title={t`No matching requests`}
            text={t`Logs go back to ${since}.`}
            action={
              <Button variant="default" onClick={onClear}>
                <Trans>Show all</Trans>
              </Button>
            }
          />
        )
      }
    >
      {(rows) => (isWide ? <Rows requests={rows} /> : <Cards requests={rows} />)}
    </PagedList>
  );
}

/** Returns functions that format the time, duration and size of a request. */
function useRowLabels() {
  const { i18n } = useLingui();
  const { time_zone: timeZone } = useAccount();
  const locales = i18n.locales ?? i18n.locale;
  const time = new Intl.DateTimeFormat(locales, {
    month: 'short',
    day: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
    timeZone,
  });
  const duration = new Intl.NumberFormat(locales, { style: 'unit', unit: 'millisecond', maximumFractionDigits: 0 });
  const size = (bytes: number): string =>
    new Intl.NumberFormat(locales, {
      style: 'unit',
      unit: bytes < 1_000 ? 'byte' : bytes < 1_000_000 ? 'kilobyte' : 'megabyte',
      unitDisplay: bytes < 1_000 ? 'long' : 'short',
      maximumFractionDigits: 1,
    }).format(bytes < 1_000 ? bytes : bytes < 1_000_000 ? bytes / 1_000 : bytes / 1_000_000);
  return { time: (at: string) => time.format(new Date(at)), duration: (ms: number) => duration.format(ms), size };
}

function RequestLink({
  request: { method, route, request_id: requestId, operation },
}: {
  readonly request: LoggedRequest;
}) {
  const { id } = useAccount();
  return (
    <Anchor component={Link} href={`/${id}/logs/${encodeURIComponent(requestId)}`} size="sm" fw={600} className="name">
      {method} {route ?? operation ?? '–'}
    </Anchor>
  );
}

function Rows({ requests }: { readonly requests: readonly LoggedRequest[] }) {
  const words = useRowLabels();
  return (
    <Card p={0}>
      <Table highlightOnHover layout="fixed" fz="sm">
        <Table.Thead>
          <Table.Tr>
            <Table.Th w="15%">
              <Trans>Time</Trans>
            </Table.Th>
            <Table.Th>
              <Trans>Request</Trans>
            </Table.Th>
            <Table.Th w="17%">
              <Trans>Response</Trans>
            </Table.Th>
            <Table.Th w="15%">
              <Trans>Key</Trans>
            </Table.Th>
            <Table.Th w="13%">
              <Trans>IP address</Trans>
            </Table.Th>
            <Table.Th w="12%" ta="end">
              <Trans>Duration</Trans>
            </Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {requests.map((request) => (
            <Table.Tr key={request.id}>
              <Table.Td style={{ whiteSpace: 'nowrap' }}>{words.time(request.at)}</Table.Td>
              <Table.Td>
                <RequestLink request={request} />
              </Table.Td>
              <Table.Td>
                <ResponseStatus status={request.status} />
                {request.code !== null && (
                  <Text size="xs" c="dimmed" className="name" pt={2}>
                    {request.code}
                  </Text>
                )}
              </Table.Td>
              <Table.Td className="name">{request.api_key_name ?? '–'}</Table.Td>
              <Table.Td className="name">{request.ip}</Table.Td>
              <Table.Td ta="end">{words.duration(request.duration_ms)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Card>
  );
}

function Cards({ requests }: { readonly requests: readonly LoggedRequest[] }) {
  const { t } = useLingui();
  const words = useRowLabels();
  return (
    <Stack gap="sm" role="list" aria-label={t`Requests`}>
      {requests.map((request) => (
        <Card key={request.id} padding="md" role="listitem">
          <Group justify="space-between" wrap="nowrap" align="flex-start">
            <RequestLink request={request} />
            <ResponseStatus status={request.status} />
          </Group>
          <Text size="sm" c="dimmed" className="name" pt={4}>
            {words.time(request.at)} · {words.duration(request.duration_ms)} ·{' '}
            <bdi className="name">{request.api_key_name ?? '–'}</bdi>
          </Text>
        </Card>
      ))}
    </Stack>
  );
}
