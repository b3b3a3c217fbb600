/** Lets an endpoint go on: with all that has waited, none of it, or what there is since a day. */
import { Radio, Stack, TextInput } from '@mantine/core';
import { useLingui } from '@lingui/react/macro';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { Dialog } from '../layout/dialog.js';
import { DialogForm } from '../layout/dialog-form.js';
import { beginningOf } from '../words/zone.js';
import { useAccount } from '../session/accounts.js';
import { readAgain, updateEndpoint, type EndpointDetail } from './webhooks.js';

interface EnableDialogProps {
  readonly shown: EndpointDetail;
  readonly opened: boolean;
  readonly onClose: () => void;
}

export function EnableDialog({ shown, opened, onClose }: EnableDialogProps) {
  const { t } = useLingui();
  return (
    <Dialog opened={opened} onClose={onClose} title={t`Let it go on`}>
      <EnableForm shown={shown} onClose={onClose} />
    </Dialog>
  );
}

function EnableForm({ shown, onClose }: Omit<EnableDialogProps, 'opened'>) {
  const { t } = useLingui();
  const { time_zone: timeZone } = useAccount();
  const [which, setWhich] = useState('all');
  const [day, setDay] = useState('');
  const enable = useMutation({
    mutationFn: () => {
      const deliver =
        which === 'since' ? { since: beginningOf(day, timeZone) ?? day } : which === 'none' ? 'none' : 'all';
      return updateEndpoint(shown.id, { status: 'enabled', deliver }, null);
    },
    onSuccess: async () => {
      await readAgain(shown);
      onClose();
    },
  });
  return (
    <DialogForm
      does={t`Let it go on`}
      error={enable.error}
      isPending={enable.isPending}
      onSubmit={() => enable.mutate()}
      onCancel={onClose}
    >
      <Radio.Group label={t`Which of the events that have waited go out now?`} value={which} onChange={setWhich}>
        <Stack gap={10} pt={8}>
          <Radio value="all" label={t`All of them`} data-autofocus />
          <Radio value="since" label={t`Those since a day`} />
          <Radio value="none" label={t`None`} description={t`They stay in the list, and can be sent again.`} />
        </Stack>
      </Radio.Group>
      {which === 'since' && (
        <TextInput
          type="date"
          w={200}
          label={t`Since`}
          required
          withAsterisk={false}
          value={day}
          onChange={(event) => setDay(event.currentTarget.value)}
        />
      )}
    </DialogForm>
  );
}
