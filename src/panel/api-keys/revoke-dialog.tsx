/** Takes a key back for good, after saying what will fail. */
import { Button, Group, Stack, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation } from '@tanstack/react-query';
import { Dialog } from '../layout/dialog.js';
import { Failure } from '../words/failure.js';
import { readAgain, revokeKey, type Key } from './keys.js';

interface RevokeDialogProps {
  readonly shown: Key;
  readonly opened: boolean;
  readonly onClose: () => void;
}

export function RevokeDialog({ shown, opened, onClose }: RevokeDialogProps) {
  const { t } = useLingui();
  const revoke = useMutation({
    mutationFn: () => revokeKey(shown.id),
    onSuccess: async () => {
      await readAgain(shown.account_id, shown.id);
      onClose();
    },
  });
  return (
    <Dialog opened={opened} onClose={onClose} title={t`Revoke this key?`} size={520}>
      <Stack gap="lg">
        <Text>
          <Trans>
            <b className="name">{shown.name}</b> is refused from now on, within a second. This cannot be undone: a
            program that still needs the API gets a new key.
          </Trans>
        </Text>
        {revoke.error !== null && <Failure error={revoke.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose} data-autofocus>
            <Trans>Keep it</Trans>
          </Button>
          <Button color="red" loading={revoke.isPending} onClick={() => revoke.mutate()}>
            <Trans>Revoke key</Trans>
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
