/** Page on which operators list the quota adjustments of all accounts, and create adjustments. */
import { Anchor, Box, Button, Group, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { Link } from 'wouter';
import type { components } from '../api/admin-api.js';
import { api, unwrap } from '../api/client.js';
import { usePages } from '../api/pages.js';
import { Empty } from '../layout/empty.js';
import { Icon } from '../layout/icons.js';
import { Page } from '../layout/page.js';
import { Lines, PagedList } from '../layout/paged-list.js';
import { useAdjustmentLabel } from '../usage/adjustment-labels.js';
import { useFormats } from '../words/times.js';
import { AdjustmentDialog } from './adjustment-dialog.js';

type Adjustment = components['schemas']['NamedQuotaAdjustment'];

export function AdjustmentsPage() {
  const { t } = useLingui();
  const [isCreating, setCreating] = useState(false);
  const adjustments = usePages(['adjustments'], (query, signal) =>
    unwrap(api.GET('/admin/v1/quota-adjustments', { params: { query }, signal })),
  );
  return (
    <Page
      title={t`Adjustments`}
      description={<Trans>Manual changes to monthly usage. Permanent and visible to the account.</Trans>}
      actions={
        <Button leftSection={<Icon name="plus" />} onClick={() => setCreating(true)}>
          <Trans>Adjust usage</Trans>
        </Button>
      }
    >
      <PagedList
        list={adjustments}
        empty={
          <Empty
            icon="adjust"
            title={t`No adjustments yet`}
            text={t`Add requests for a busy month, or correct a count.`}
          />
        }
      >
        {(rows) => (
          <Lines>
            {rows.map((adjustment) => (
              <Line key={adjustment.id} adjustment={adjustment} />
            ))}
          </Lines>
        )}
      </PagedList>
      <AdjustmentDialog opened={isCreating} onClose={() => setCreating(false)} />
    </Page>
  );
}

function Line({ adjustment }: { readonly adjustment: Adjustment }) {
  const { time } = useFormats();
  const words = useAdjustmentLabel();
  const { account_id: id, account_name: name, api_key_id: keyId, reason, created_at: at } = adjustment;
  return (
    <li className="line">
      <Group justify="space-between" align="flex-start" gap="sm">
        <Box miw={0} flex="1 1 280px">
          <Anchor component={Link} href={`/${id}/usage`} fw={600} className="name">
            {name}
          </Anchor>
          <Text className="name">
            {words(adjustment)} · {reason}
          </Text>
          {keyId !== null && (
            <Anchor component={Link} href={`/${id}/api-keys/${keyId}`} size="sm">
              <Trans>For one key</Trans>
            </Anchor>
          )}
        </Box>
        <Text size="sm" c="dimmed">
          {time(at)}
        </Text>
      </Group>
    </li>
  );
}
