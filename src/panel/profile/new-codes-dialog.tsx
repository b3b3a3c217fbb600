/** New recovery codes in the place of the old ones. */
import { Button, Group, Stack, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation } from '@tanstack/react-query';
import { api, ask } from '../api/client.js';
import { Dialog } from '../layout/dialog.js';
import { useShownSecret } from '../layout/shown-secret.js';
import { Failure } from '../words/failure.js';
import { CodesStep } from './codes-step.js';

interface NewCodesDialogProps {
  readonly opened: boolean;
  readonly onClose: () => void;
  readonly onDone: () => Promise<void>;
}

export function NewCodesDialog({ opened, onClose, onDone }: NewCodesDialogProps) {
  const { t } = useLingui();
  const codes = useShownSecret<readonly string[]>(() => {
    onClose();
    void onDone();
  });
  const make = useMutation({
    gcTime: 0,
    mutationFn: async () => codes.show((await ask(api.POST('/admin/v1/me/recovery-codes'))).recovery_codes),
  });
  const close = (): void => {
    make.reset();
    onClose();
  };
  return (
    <Dialog
      opened={opened || codes.made !== null}
      title={t`New recovery codes`}
      closeOnClickOutside={codes.made === null}
      onClose={codes.made === null ? close : codes.askToLeave}
    >
      {codes.made === null ? (
        <Stack gap="lg">
          <Text>
            <Trans>The current codes stop working immediately.</Trans>
          </Text>
          {make.error !== null && <Failure error={make.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={close} data-autofocus>
              <Trans>Cancel</Trans>
            </Button>
            <Button loading={make.isPending} onClick={() => make.mutate()}>
              <Trans>Create new codes</Trans>
            </Button>
          </Group>
        </Stack>
      ) : (
        <CodesStep codes={codes.made} isLeaving={codes.isLeaving} onStay={codes.stay} onDone={codes.forget} />
      )}
    </Dialog>
  );
}
