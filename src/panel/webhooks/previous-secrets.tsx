/** Secrets before the last rotation, which still sign: until when, and a button that ends them. */
import { Alert, Button, Group, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { SureDialog } from '../layout/sure-dialog.js';
import { useAccount, useMay } from '../session/accounts.js';
import { useFormats } from '../words/times.js';
import { endPreviousSecret, previousSecretEnds, readAgain, type Endpoint } from './webhooks.js';

export function PreviousSecrets({ of: endpoint }: { readonly of: Endpoint }) {
  const { t } = useLingui();
  const may = useMay();
  const { time_zone: timeZone } = useAccount();
  const { time } = useFormats(timeZone);
  const [isEnding, setEnding] = useState(false);
  const [last] = previousSecretEnds(endpoint);
  if (last === undefined) return null;
  const until = time(last);
  return (
    <Alert variant="light" color="orange">
      <Group justify="space-between">
        <Text size="sm">
          <Trans>Events are also signed with the previous secret until {until}.</Trans>
        </Text>
        {may('endPreviousWebhookSecret') && (
          <Button size="xs" variant="default" onClick={() => setEnding(true)}>
            <Trans>End previous secret</Trans>
          </Button>
        )}
      </Group>
      <SureDialog
        opened={isEnding}
        title={t`End the previous secret?`}
        does={t`End previous secret`}
        onClose={() => setEnding(false)}
        act={async () => {
          await endPreviousSecret(endpoint.id);
          await readAgain(endpoint);
        }}
      >
        <Trans>
          A receiver that only knows the previous secret rejects every event from now on. The current secret keeps
          signing.
        </Trans>
      </SureDialog>
    </Alert>
  );
}
