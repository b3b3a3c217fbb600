/**
 * Dialog that revokes a key permanently. The dialog first lists the operations that would break. For the key of an
 * OAuth client, the texts speak of disconnecting an assistant.
 */
import { Button, Group, Stack, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation } from '@tanstack/react-query';
import { Dialog } from '../layout/dialog.js';
import { clientName } from './oauth-client.js';
import { Failure } from '../words/failure.js';
import { Impact } from './impact.js';
import { refetchKeys, revokeKey, type Key } from './keys.js';

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
      await refetchKeys(shown.account_id, shown.id);
      onClose();
    },
  });
  return (
    <Dialog
      opened={opened}
      onClose={onClose}
      title={shown.oauth_client === null ? t`Revoke this key?` : t`Disconnect this assistant?`}
      size={520}
    >
      <Stack gap="lg">
        <Text>
          <Consequence apiKey={shown} />
        </Text>
        <Impact id={shown.id} unread={<Trans>Couldn't load recent usage. You can still revoke the key.</Trans>} />
        {revoke.error !== null && <Failure error={revoke.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose} data-autofocus>
            <Trans>Cancel</Trans>
          </Button>
          <Button color="red" loading={revoke.isPending} onClick={() => revoke.mutate()}>
            {shown.oauth_client === null ? <Trans>Revoke key</Trans> : <Trans>Revoke</Trans>}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}

/** Consequence says what stops working, and how to restore access. */
function Consequence({ apiKey: { name, oauth_client: client } }: { readonly apiKey: Key }) {
  if (client === null)
    return (
      <Trans>
        <b className="name">{name}</b> stops working within a second. This can't be undone. Apps that use it will need a
        new key.
      </Trans>
    );
  const place = clientName(client);
  return (
    <Trans>
      <b className="name">{name}</b> was connected with OAuth ({place}). It loses access within a second. To restore
      access, connect it again.
    </Trans>
  );
}
