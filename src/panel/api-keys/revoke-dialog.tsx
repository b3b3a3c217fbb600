/** Takes a key back for good, after saying what will fail. */
import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation } from '@tanstack/react-query';
import { Dialog } from '../layout/dialog.js';
import { useFormats } from '../words/times.js';
import { Failure } from '../words/failure.js';
import { readAgain, revokeKey, useImpact, type Key } from './keys.js';

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
        <Impact id={shown.id} />
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

/** Operations that are named; the others are counted. */
const NAMED = 5;

/** What was done with the key of late, and will fail. */
function Impact({ id }: { readonly id: string }) {
  const { t } = useLingui();
  const { number } = useFormats();
  const { data } = useImpact(id, true);
  if (data === undefined) return null;
  const { requests, operations } = data.last_day;
  const count = number(requests);
  if (requests === 0)
    return (
      <Text size="sm" c="dimmed">
        <Trans>No program has used it yesterday or today.</Trans>
      </Text>
    );
  return (
    <Alert color="orange" variant="light" title={t`What will fail`}>
      <Text size="sm">
        <Trans>Since yesterday it was used {count} times:</Trans>
      </Text>
      {operations.slice(0, NAMED).map((each) => (
        <Text key={each.operation} size="sm" className="name">
          {each.operation}: {number(each.requests)}
        </Text>
      ))}
    </Alert>
  );
}
