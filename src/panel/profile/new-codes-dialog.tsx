/**
 * Dialog that replaces the recovery codes and shows the new codes once. The previous codes stop working immediately.
 */
import { Button, Group, Stack, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation } from '@tanstack/react-query';
import { api, unwrap } from '../api/client.js';
import { SecretDialog } from '../layout/secret-dialog.js';
import { Failure } from '../words/failure.js';
import { CodesStep } from './codes-step.js';

interface NewCodesDialogProps {
  readonly opened: boolean;
  readonly onClose: () => void;
  /** Called after the dialog has removed the new codes from the page. */
  readonly onDone: () => void;
}

export function NewCodesDialog({ opened, onClose, onDone }: NewCodesDialogProps) {
  const { t } = useLingui();
  return (
    <SecretDialog<readonly string[]>
      opened={opened}
      onClose={onClose}
      title={t`New recovery codes`}
      createdTitle={t`New recovery codes`}
      size={520}
      form={(onCreated) => <NewCodes onCreated={onCreated} onClose={onClose} />}
      secret={(codes, leaving) => <CodesStep codes={codes} {...leaving} />}
      onForgotten={onDone}
    />
  );
}

interface NewCodesProps {
  readonly onCreated: (codes: readonly string[]) => void;
  readonly onClose: () => void;
}

function NewCodes({ onCreated, onClose }: NewCodesProps) {
  const make = useMutation({
    gcTime: 0,
    mutationFn: async () => onCreated((await unwrap(api.POST('/admin/v1/me/recovery-codes'))).recovery_codes),
  });
  return (
    <Stack gap="lg">
      <Text>
        <Trans>The current codes stop working immediately.</Trans>
      </Text>
      {make.error !== null && <Failure error={make.error} />}
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose} data-autofocus>
          <Trans>Cancel</Trans>
        </Button>
        <Button loading={make.isPending} onClick={() => make.mutate()}>
          <Trans>Create new codes</Trans>
        </Button>
      </Group>
    </Stack>
  );
}
