/** What was given or taken back by hand, and why. */
import { Card, Table, Text, Title } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useQuery } from '@tanstack/react-query';
import type { components } from '../api/admin-api.js';
import { api, ask } from '../api/client.js';
import { useAccount } from '../session/accounts.js';
import { useFormats } from '../words/times.js';

type Adjustment = components['schemas']['QuotaAdjustment'];

/** The newest adjustments of the account. */
export const useAdjustments = (accountId: string) =>
  useQuery({
    queryKey: ['account', accountId, 'adjustments'],
    queryFn: () =>
      ask(
        api.GET('/admin/v1/accounts/{id}/quota-adjustments', {
          params: { path: { id: accountId }, query: { limit: 50 } },
        }),
      ),
  });

export function Adjustments() {
  const { t } = useLingui();
  const { id, time_zone: timeZone } = useAccount();
  const { time, number } = useFormats(timeZone);
  const adjustments = useAdjustments(id);
  const rows = adjustments.data?.data ?? [];
  const words = ({ type, amount }: Adjustment): string => {
    const count = number(amount ?? 0);
    if (type === 'grant') return t`${count} more until the month ends`;
    return type === 'set' ? t`Set to ${count} used` : t`Set to nothing used`;
  };
  if (rows.length === 0) return null;
  return (
    <Card>
      <Title order={2} pb="md">
        <Trans>Given and set by hand</Trans>
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
              <Trans>Why</Trans>
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
                  <Text size="xs" c="dimmed" className="name">
                    {adjustment.api_key_id}
                  </Text>
                )}
              </Table.Td>
              <Table.Td className="name">{adjustment.reason}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Card>
  );
}
