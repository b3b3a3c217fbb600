/**
 * Dialog that pauses a key. The dialog first lists the operations that would break. After the pause, a toast offers to
 * undo the pause.
 */
import { Stack } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { ConfirmDialog } from '../layout/confirm-dialog.js';
import { showUndo } from '../layout/toasts.js';
import { isolateName } from '../words/isolated.js';
import { Impact } from './impact.js';
import { KeyFailure } from './key-failure.js';
import { pauseKey, refetchKeys, resumeKey, type Key } from './keys.js';

interface PauseDialogProps {
  readonly shown: Key;
  readonly opened: boolean;
  readonly onClose: () => void;
}

export function PauseDialog({ shown, opened, onClose }: PauseDialogProps) {
  const { t } = useLingui();
  const name = isolateName(shown.name);
  const pause = async (): Promise<void> => {
    try {
      await pauseKey(shown.id);
    } finally {
      await refetchKeys(shown.account_id, shown.id);
    }
    showUndo(t`${name} is paused.`, async () => {
      await resumeKey(shown.id);
      await refetchKeys(shown.account_id, shown.id);
    });
  };
  return (
    <ConfirmDialog
      opened={opened}
      title={t`Pause this key?`}
      confirmLabel={t`Pause key`}
      onClose={onClose}
      onConfirm={pause}
      failure={(error) => <KeyFailure error={error} />}
    >
      <Stack gap="lg">
        <span>
          <Trans>
            Requests using <b>{name}</b> fail within a second. They work again when you resume the key.
          </Trans>
        </span>
        <Impact id={shown.id} unread={<Trans>Couldn't load recent usage. You can still pause the key.</Trans>} />
      </Stack>
    </ConfirmDialog>
  );
}
