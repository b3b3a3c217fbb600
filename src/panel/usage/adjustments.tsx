/**
 * Table of an account's quota adjustments with their reasons. Renders nothing if there are none, or until they are
 * loaded.
 */
import { Anchor, Card, Table, Title } from '@mantine/core';
import { Trans } from '@lingui/react/macro';
import { Link } from 'wouter';
import { api, unwrap } from '../api/client.js';
import { usePages } from '../api/pages.js';
import { ShowMore } from '../layout/show-more.js';
import { useAccount } from '../session/accounts.js';
import { Failure } from '../words/failure.js';
import { useFormats } from '../words/times.js';
import { useAdjustmentLabel } from './adjustment-labels.js';

/** Reads the quota adjustments of an account page by page, newest first. */
export const useAdjustments = (accountId: string) =>
  usePages(['account', accountId, 'adjustments'], (query, signal) =>
    unwrap(
      api.GET('/admin/v1/accounts/{id}/quota-adjustments', { params: { path: { id: accountId }, query }, signal }),
    ),
  );

export function Adjustments() {
  const { id, time_zone: timeZone } = useAccount();
  const { time } = useFormats(timeZone);
  const words = useAdjustmentLabel();
  const adjustments = useAdjustments(id);
  if (adjustments.error !== null && adjustments.data === undefined)
    return <Failure error={adjustments.error} again={() => void adjustments.refetch()} />;
  const rows = adjustments.data?.pages.flatMap(({ data }) => data) ?? [];
  if (rows.length === 0) return null;
  return (
    <Card>
      <Title order={2} pb="md">
        <Trans>Manual adjustments</Trans>
      </Title>
      <Table fz="sm" verticalSpacing="xs">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>
              <Trans>When</Trans>
            </Table.Th>
            <Table.Th>
              <Trans>What</Trans>
            </Table.Th>
            <Table.Th>
              <Trans>Reason</Trans>
            </Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((adjustment) => (
            <Table.Tr key={adjustment.id}>
              <Table.Td>{time(adjustment.created_at)}</Table.Td>
              <Table.Td>
                {words(adjustment)}
                {adjustment.api_key_id !== null && (
                  <Anchor component={Link} href={`/${id}/api-keys/${adjustment.api_key_id}`} size="xs" display="block">
                    <Trans>For one key</Trans>
                  </Anchor>
                )}
              </Table.Td>
              <Table.Td className="name">{adjustment.reason}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      <ShowMore list={adjustments} />
    </Card>
  );
}
