/**
 * Alert while a previous secret of a key or webhook endpoint still works, with a button that ends that secret early.
 */
import { Alert, Button, Group, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useState, type ReactNode } from 'react';
import { ConfirmDialog } from './confirm-dialog.js';

interface PreviousSecretAlertProps {
  /** Text of the alert, such as how long the secret still works. */
  readonly says: ReactNode;
  readonly mayEnd: boolean;
  /** Called before the confirmation opens, for example to refetch data that the confirmation shows. */
  readonly onAsk?: () => void;
  /** Ends the previous secret after the confirmation. */
  readonly act: () => Promise<void>;
  /** Text of the confirmation, which names the consequence of ending the secret. */
  readonly children: ReactNode;
}

export function PreviousSecretAlert({ says, mayEnd, onAsk, act, children }: PreviousSecretAlertProps) {
  const { t } = useLingui();
  const [isEnding, setEnding] = useState(false);
  return (
    <Alert variant="light" color="orange">
      <Group justify="space-between">
        <Text size="sm">{says}</Text>
        {mayEnd && (
          <Button
            size="xs"
            variant="default"
            onClick={() => {
              onAsk?.();
              setEnding(true);
            }}
          >
            <Trans>End previous secret</Trans>
          </Button>
        )}
      </Group>
      <ConfirmDialog
        opened={isEnding}
        title={t`End the previous secret?`}
        confirmLabel={t`End previous secret`}
        onClose={() => setEnding(false)}
        onConfirm={act}
      >
        {children}
      </ConfirmDialog>
    </Alert>
  );
}
