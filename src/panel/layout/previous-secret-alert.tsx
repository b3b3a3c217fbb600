/** Says that a secret from before the last rotation still works, with a button that ends it. */
import { Alert, Button, Group, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useState, type ReactNode } from 'react';
import { SureDialog } from './sure-dialog.js';

interface PreviousSecretAlertProps {
  /** Until when it works. */
  readonly says: ReactNode;
  readonly mayEnd: boolean;
  /** Called when somebody is about to decide, who must see what is true now. */
  readonly onAsk?: () => void;
  /** Ends it. */
  readonly act: () => Promise<void>;
  /** Tells the consequence of ending it. */
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
