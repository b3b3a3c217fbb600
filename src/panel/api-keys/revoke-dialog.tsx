/** Takes a key back for good, after saying what will fail. */
import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { Plural, Trans, useLingui } from '@lingui/react/macro';
import { useMutation } from '@tanstack/react-query';
import { Dialog } from '../layout/dialog.js';
import { placeOf } from './let-in.js';
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
    <Dialog
      opened={opened}
      onClose={onClose}
      title={shown.oauth_client === null ? t`Revoke this key?` : t`Take this assistant out?`}
      size={520}
    >
      <Stack gap="lg">
        <Text>
          <Meaning of={shown} />
        </Text>
        <Impact id={shown.id} />
        {revoke.error !== null && <Failure error={revoke.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose} data-autofocus>
            <Trans>Keep it</Trans>
          </Button>
          <Button color="red" loading={revoke.isPending} onClick={() => revoke.mutate()}>
            {shown.oauth_client === null ? <Trans>Revoke key</Trans> : <Trans>Revoke</Trans>}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}

/** What revoking it is, for whoever uses it. */
function Meaning({ of: { name, oauth_client: client } }: { readonly of: Key }) {
  if (client === null)
    return (
      <Trans>
        <b className="name">{name}</b> is refused from now on, within a second. This cannot be undone: a program that
        still needs the API gets a new key.
      </Trans>
    );
  const place = placeOf(client);
  return (
    <Trans>
      <b className="name">{name}</b> was let in by OAuth ({place}). It is out from now on, within a second, and calls
      nothing in the name of the account any more. To be let in again, it has to be connected once more.
    </Trans>
  );
}

/** Operations that are named; the others are counted. */
const NAMED = 5;

/** What was done with the key of late, and will fail. */
function Impact({ id }: { readonly id: string }) {
  const { t } = useLingui();
  const { number } = useFormats();
  const { data, error, refetch } = useImpact(id, true);
  if (data === undefined)
    return error === null ? null : (
      <Stack gap="xs">
        <Text size="sm">
          <Trans>What has used it of late could not be read. It can be revoked all the same.</Trans>
        </Text>
        <Failure error={error} again={() => void refetch()} />
      </Stack>
    );
  const { requests, operations } = data.last_day;
  if (requests === 0)
    return (
      <Text size="sm" c="dimmed">
        <Trans>No program has used it yesterday or today.</Trans>
      </Text>
    );
  return (
    <Alert color="orange" variant="light" title={t`What will fail`}>
      <Text size="sm">
        <Plural
          value={requests}
          one="Since yesterday it was used # time:"
          other="Since yesterday it was used # times:"
        />
      </Text>
      {operations.slice(0, NAMED).map((each) => (
        <Text key={each.operation} size="sm" className="name">
          {each.operation}: {number(each.requests)}
        </Text>
      ))}
    </Alert>
  );
}
