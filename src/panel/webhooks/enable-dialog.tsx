/**
 * Dialog that resumes a paused or disabled webhook endpoint. The user chooses which pending events the gateway sends:
 * all, none, or events since a date.
 */
import { Radio, Stack, TextInput } from '@mantine/core';
import { useLingui } from '@lingui/react/macro';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { Dialog } from '../layout/dialog.js';
import { DialogForm } from '../layout/dialog-form.js';
import { useFieldError } from '../layout/form-errors.js';
import { beginningOf } from '../words/zone.js';
import { useAccount } from '../session/accounts.js';
import { refetchEndpoint, updateEndpoint, type EndpointDetail } from './webhooks.js';

interface EnableDialogProps {
  readonly shown: EndpointDetail;
  readonly opened: boolean;
  readonly onClose: () => void;
}

export function EnableDialog({ shown, opened, onClose }: EnableDialogProps) {
  const { t } = useLingui();
  return (
    <Dialog opened={opened} onClose={onClose} title={t`Resume endpoint`}>
      <EnableForm shown={shown} onClose={onClose} />
    </Dialog>
  );
}

function EnableForm({ shown, onClose }: Omit<EnableDialogProps, 'opened'>) {
  const { t } = useLingui();
  const { time_zone: timeZone } = useAccount();
  const [choice, setChoice] = useState('all');
  const [day, setDay] = useState('');
  const enable = useMutation({
    mutationFn: () => {
      const deliver =
        choice === 'since' ? { since: beginningOf(day, timeZone) ?? day } : choice === 'none' ? 'none' : 'all';
      return updateEndpoint(shown.id, { status: 'enabled', deliver }, null);
    },
    onSuccess: async () => {
      await refetchEndpoint(shown);
      onClose();
    },
  });
  return (
    <DialogForm
      submitLabel={t`Resume`}
      error={enable.error}
      checks={{ deliver: choice === 'since' && beginningOf(day, timeZone) === undefined && t`Choose a day.` }}
      isPending={enable.isPending}
      onSubmit={() => enable.mutate()}
      onCancel={onClose}
    >
      <DeliverField choice={choice} day={day} onChoice={setChoice} onDay={setDay} />
    </DialogForm>
  );
}

interface DeliverFieldProps {
  /** `all`, `since` or `none`. */
  readonly choice: string;
  /** First day, such as `2027-01-31`. The form uses this date only if the choice is `since`. */
  readonly day: string;
  readonly onChoice: (choice: string) => void;
  readonly onDay: (day: string) => void;
}

function DeliverField({ choice, day, onChoice, onDay }: DeliverFieldProps) {
  const { t } = useLingui();
  const error = useFieldError('deliver');
  const isSince = choice === 'since';
  return (
    <>
      <Radio.Group
        label={t`What should happen to pending events?`}
        value={choice}
        error={isSince ? undefined : error}
        onChange={onChoice}
      >
        <Stack gap={10} pt={8}>
          <Radio value="all" label={t`Send all`} data-autofocus />
          <Radio value="since" label={t`Send from a date`} />
          <Radio value="none" label={t`Skip all`} description={t`They stay in the list, and you can resend them.`} />
        </Stack>
      </Radio.Group>
      {isSince && (
        <TextInput
          type="date"
          w={200}
          label={t`Since`}
          value={day}
          error={error}
          onChange={(event) => onDay(event.currentTarget.value)}
        />
      )}
    </>
  );
}
