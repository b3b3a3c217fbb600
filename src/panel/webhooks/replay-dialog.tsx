/** Sends many deliveries again: all that failed, or all of a time. */
import { Button, Group, Radio, Stack, Text, TextInput } from '@mantine/core';
import { Plural, Trans, useLingui } from '@lingui/react/macro';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { hasCode } from '../api/problem.js';
import { Dialog } from '../layout/dialog.js';
import { Failure } from '../words/failure.js';
import { beginningOf } from '../words/zone.js';
import { useAccount } from '../session/accounts.js';
import { readAgain, replay, type Endpoint } from './webhooks.js';

interface ReplayDialogProps {
  readonly shown: Endpoint;
  readonly opened: boolean;
  readonly onClose: () => void;
}

export function ReplayDialog({ shown, opened, onClose }: ReplayDialogProps) {
  const { t } = useLingui();
  return (
    <Dialog opened={opened} onClose={onClose} title={t`Send many again`}>
      <ReplayForm shown={shown} onClose={onClose} />
    </Dialog>
  );
}

function ReplayForm({ shown, onClose }: Omit<ReplayDialogProps, 'opened'>) {
  const { t } = useLingui();
  const { time_zone: timeZone } = useAccount();
  const [status, setStatus] = useState<'failed' | 'all'>('failed');
  const [since, setSince] = useState('');
  const [until, setUntil] = useState('');
  const [first, last] = [beginningOf(since, timeZone), beginningOf(until, timeZone)];
  const send = useMutation({
    mutationFn: () =>
      replay(shown.id, {
        status,
        ...(first === undefined ? {} : { since: first }),
        ...(last === undefined ? {} : { until: last }),
      }),
    onSettled: () => readAgain(shown),
  });
  const isTooMuch = hasCode(send.error, 'validation_failed');
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        send.mutate();
      }}
    >
      <Stack gap="lg">
        <Radio.Group label={t`Which`} value={status} onChange={(value) => setStatus(value as 'failed' | 'all')}>
          <Stack gap={10} pt={8}>
            <Radio value="failed" label={t`Those that failed`} data-autofocus />
            <Radio
              value="all"
              label={t`Those that arrived, too`}
              description={t`And what was not for this endpoint when it happened. Some may arrive twice.`}
            />
          </Stack>
        </Radio.Group>
        <Group grow align="flex-start">
          <TextInput
            type="date"
            label={t`Since`}
            description={t`Empty: all that are kept.`}
            value={since}
            onChange={(event) => setSince(event.currentTarget.value)}
          />
          <TextInput
            type="date"
            label={t`Before`}
            description={t`Empty: until now.`}
            value={until}
            onChange={(event) => setUntil(event.currentTarget.value)}
          />
        </Group>
        {isTooMuch && (
          <Text size="sm" c="red">
            <Trans>That is too much at once, or ends before it begins. Choose a shorter time.</Trans>
          </Text>
        )}
        {send.error !== null && !isTooMuch && <Failure error={send.error} />}
        <div role="status">
          {send.data !== undefined && (
            <Text fw={600}>
              <Plural value={send.data.replayed} one="# is sent again." other="# are sent again." />
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
      </Stack>
    </form>
  );
}
