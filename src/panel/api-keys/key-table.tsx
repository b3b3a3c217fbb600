/** List of API keys: a table on wide screens, cards on narrow screens. */
import { Anchor, Badge, Box, Card, Code, Group, Stack, Table, Text } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { Trans, useLingui } from '@lingui/react/macro';
import { memo } from 'react';
import { Link } from 'wouter';
import { useAccount } from '../session/accounts.js';
import { OAuthClientLines } from './oauth-client.js';
import { Ago, useFormats } from '../words/times.js';
import type { ListedKey } from './keys.js';
import { MonthBar } from './month-bar.js';
import { useScopeLabels } from './scopes.js';
import { Status } from './status.js';

/** Maximum number of scopes that a row names. The row only counts the remaining scopes. */
const SHOWN_SCOPES = 2;

/** KeyTable is memoized, so that typing in the search field does not render hundreds of rows at each keystroke. */
export const KeyTable = memo(function KeyTable({ keys }: { readonly keys: readonly ListedKey[] }) {
  const isWide = useMediaQuery('(min-width: 62em)', undefined, { getInitialValueInEffect: false });
  return isWide ? <Rows keys={keys} /> : <Cards keys={keys} />;
});

function Rows({ keys }: { readonly keys: readonly ListedKey[] }) {
  return (
    <Card p={0}>
      <Table highlightOnHover layout="fixed">
        <Table.Thead>
          <Table.Tr>
            <Table.Th w="35%">
              <Trans>Name</Trans>
            </Table.Th>
            <Table.Th w="22%">
              <Trans>Permissions</Trans>
            </Table.Th>
            <Table.Th w="15%">
              <Trans>Status</Trans>
            </Table.Th>
            <Table.Th w="14%">
              <Trans>Last used</Trans>
            </Table.Th>
            <Table.Th>
              <Trans>This month</Trans>
            </Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {keys.map((key) => (
            <Row key={key.id} apiKey={key} />
          ))}
        </Table.Tbody>
      </Table>
    </Card>
  );
}

/** Row is memoized, so that loading another page does not render the existing rows again. */
const Row = memo(function Row({ apiKey: key }: { readonly apiKey: ListedKey }) {
  return (
    <Table.Tr>
      <Table.Td>
        <Name apiKey={key} />
      </Table.Td>
      <Table.Td>
        <Scopes apiKey={key} />
      </Table.Td>
      <Table.Td>
        <Status status={key.status} />
        <Text size="xs" c="dimmed" pt={4} component="div">
          <Expiration apiKey={key} />
        </Text>
      </Table.Td>
      <Table.Td>
        <LastUsed apiKey={key} />
      </Table.Td>
      <Table.Td>
        <MonthBar used={key.month_used} limit={key.month_limit} />
      </Table.Td>
    </Table.Tr>
  );
});

function Cards({ keys }: { readonly keys: readonly ListedKey[] }) {
  const { t } = useLingui();
  return (
    <Stack gap="sm" role="list" aria-label={t`API keys`}>
      {keys.map((key) => (
        <Card key={key.id} padding="md" role="listitem">
          <Stack gap={10}>
            <Group justify="space-between" align="flex-start" wrap="nowrap">
              <Name apiKey={key} />
              <Status status={key.status} />
            </Group>
            <Scopes apiKey={key} />
            <Text size="sm" c="dimmed" component="div">
              <Trans>Last used:</Trans> <LastUsed apiKey={key} />
              <Expiration apiKey={key} before=" · " />
            </Text>
            <Group gap={6} align="baseline">
              <Text size="sm" c="dimmed">
                <Trans>This month:</Trans>
              </Text>
              <MonthBar used={key.month_used} limit={key.month_limit} />
            </Group>
          </Stack>
        </Card>
      ))}
    </Stack>
  );
}

function Name({ apiKey: key }: { readonly apiKey: ListedKey }) {
  return (
    <Box miw={0}>
      <Anchor component={Link} href={`/${key.account_id}/api-keys/${key.id}`} fw={600} className="name">
        {key.name}
      </Anchor>
      <Group gap={6} pt={4}>
        {key.oauth_client === null ? (
          <Code>{key.hint}</Code>
        ) : (
          <OAuthClientLines apiKey={key} client={key.oauth_client} />
        )}
        {key.environment === 'test' && (
          <Badge size="sm" variant="outline" color="gray">
            <Trans>Test</Trans>
          </Badge>
        )}
      </Group>
    </Box>
  );
}

function Scopes({ apiKey: { scopes } }: { readonly apiKey: ListedKey }) {
  const words = useScopeLabels();
  const more = scopes.length - SHOWN_SCOPES;
  return (
    <Text size="sm" className="name">
      {scopes.slice(0, SHOWN_SCOPES).map(words.short).join(' · ')}
      {more > 0 && (
        <Text span inherit c="dimmed">
          {' '}
          <Trans>and {more} more</Trans>
        </Text>
      )}
    </Text>
  );
}

function LastUsed({ apiKey: { last_used_at: at } }: { readonly apiKey: ListedKey }) {
  const { time_zone: timeZone } = useAccount();
  if (at !== null) return <Ago at={at} timeZone={timeZone} />;
  return (
    <Text span size="sm" c="dimmed">
      <Trans>Never</Trans>
    </Text>
  );
}

interface ExpirationProps {
  readonly apiKey: ListedKey;
  /** Separator before the date, such as ` · `. It appears only together with a date. */
  readonly before?: string;
}

/**
 * Expiration shows the expiration date without a line break inside. Renders nothing for expired and revoked keys, and
 * for keys that never expire.
 */
function Expiration({ apiKey: { expires_at: at, status }, before = '' }: ExpirationProps) {
  const { time_zone: timeZone } = useAccount();
  const { date } = useFormats(timeZone);
  if (at === null || status === 'revoked' || status === 'expired') return null;
  const day = date(at);
  return (
    <>
      {before}
      <span style={{ whiteSpace: 'nowrap' }}>
        <Trans>until {day}</Trans>
      </span>
    </>
  );
}
