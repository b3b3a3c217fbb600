/**
 * Dialog that resends many events of a webhook endpoint: failed events or all events, optionally of a period. The
 * dialog then says how many events the gateway resends.
 */
import { Button, Group, Radio, Stack, Text } from '@mantine/core';
import { Plural, Trans, useLingui } from '@lingui/react/macro';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { Dialog } from '../layout/dialog.js';
import { Form } from '../layout/form.js';
import { useFieldError } from '../layout/form-errors.js';
import { FormText } from '../layout/form-fields.js';
import { beginningOf } from '../words/zone.js';
import { useAccount } from '../session/accounts.js';
import { refetchEndpoint, replayDeliveries, type Endpoint } from './webhooks.js';

interface ReplayDialogProps {
  readonly shown: Endpoint;
  readonly opened: boolean;
  readonly onClose: () => void;
}

export function ReplayDialog({ shown, opened, onClose }: ReplayDialogProps) {
  const { t } = useLingui();
  return (
    <Dialog opened={opened} onClose={onClose} title={t`Resend events`}>
      <ReplayForm shown={shown} onClose={onClose} />
    </Dialog>
  );
}

function ReplayForm({ shown, onClose }: Omit<ReplayDialogProps, 'opened'>) {
  const { t } = useLingui();
  const { time_zone: timeZone } = useAccount();
  const [status, setStatus] = useState<Status>('failed');
  const [since, setSince] = useState('');
  const [until, setUntil] = useState('');
  const [first, last] = [beginningOf(since, timeZone), beginningOf(until, timeZone)];
  const send = useMutation({
    mutationFn: () =>
      replayDeliveries(shown.id, {
        status,
        ...(first === undefined ? {} : { since: first }),
        ...(last === undefined ? {} : { until: last }),
      }),
    onSettled: () => refetchEndpoint(shown),
  });
  return (
    <Form
      gap="lg"
      error={send.error}
      checks={{ until: first !== undefined && last !== undefined && last <= first && t`Choose a later day.` }}
      onSubmit={() => send.mutate()}
      footer={
        <>
          <div role="status">
            {send.data !== undefined && (
              <Text fw={600}>
                <Plural
                  value={send.data.replayed}
                  _0="No events to resend."
                  one="Resending # event."
                  other="Resending # events."
                />
              </Text>
            )}
          </div>
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              <Trans>Close</Trans>
            </Button>
            <Button type="submit" loading={send.isPending}>
              <Trans>Send again</Trans>
            </Button>
          </Group>
        </>
      }
    >
      <StatusField value={status} onChange={setStatus} />
      <Group grow align="flex-start">
        <FormText
          field="since"
          type="date"
          label={t`Since`}
          description={t`Leave empty to include all stored events.`}
          value={since}
          onChange={(event) => setSince(event.currentTarget.value)}
        />
        <FormText
          field="until"
          type="date"
          label={t`Before`}
          description={t`Leave empty to include events up to now.`}
          value={until}
          onChange={(event) => setUntil(event.currentTarget.value)}
        />
      </Group>
    </Form>
  );
}

/** Choice of events to resend: only failed events, or all events. */
type Status = 'failed' | 'all';

interface StatusFieldProps {
  readonly value: Status;
  readonly onChange: (status: Status) => void;
}

function StatusField({ value: chosen, onChange }: StatusFieldProps) {
  const { t } = useLingui();
  return (
    <Radio.Group
      label={t`Events`}
      value={chosen}
      error={useFieldError('status')}
      onChange={(value) => onChange(value as Status)}
    >
      <Stack gap={10} pt={8}>
        <Radio value="failed" label={t`Failed only`} data-autofocus />
        <Radio
          value="all"
          label={t`All, including delivered`}
          description={t`Includes events this endpoint wasn't subscribed to. Some may be delivered twice.`}
        />
      </Stack>
    </Radio.Group>
  );
}
