/** Warns that a previous secret still works, with a button that ends it. */
import { Alert, Button, Group, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useState, type ReactNode } from 'react';
import { SureDialog } from './sure-dialog.js';

interface PreviousSecretAlertProps {
  /** Text with the end of the secret. */
  readonly says: ReactNode;
  readonly mayEnd: boolean;
  /** Called before the confirmation opens, to refetch what it shows. */
  readonly onAsk?: () => void;
  /** Ends the secret. */
  readonly act: () => Promise<void>;
  /** The consequence of ending it. */
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
      <SureDialog
        opened={isEnding}
        title={t`End the previous secret?`}
        does={t`End previous secret`}
        onClose={() => setEnding(false)}
        act={act}
      >
        {children}
      </SureDialog>
    </Alert>
  );
}
