/** Dialog that sends a test event to a webhook endpoint and shows the result of the single attempt. */
import { Button, Group, Stack, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { Dialog } from '../layout/dialog.js';
import { Form } from '../layout/form.js';
import { FormSelect } from '../layout/form-fields.js';
import { AttemptCard } from './attempt-card.js';
import { refetchEndpoint, sendTest, useEventTypes, type Endpoint } from './webhooks.js';

interface TestDialogProps {
  readonly shown: Endpoint;
  readonly opened: boolean;
  readonly onClose: () => void;
}

export function TestDialog({ shown, opened, onClose }: TestDialogProps) {
  const { t } = useLingui();
  return (
    <Dialog opened={opened} onClose={onClose} title={t`Send test event`} size={640}>
      <TestForm shown={shown} onClose={onClose} />
    </Dialog>
  );
}

function TestForm({ shown, onClose }: Omit<TestDialogProps, 'opened'>) {
  const { t } = useLingui();
  const types = useEventTypes();
  const [type, setType] = useState('');
  const test = useMutation({
    mutationFn: () => sendTest(shown.id, type === '' ? null : type),
    onSettled: () => refetchEndpoint(shown),
  });
  const attempt = test.data?.attempt_log.at(-1);
  const named = (types.data?.data ?? []).filter(({ example }) => example !== null);
  return (
    <Form
      gap="lg"
      error={test.error}
      onSubmit={() => test.mutate()}
      footer={
        <>
          <div role="status">
            {test.data !== undefined && (
              <Stack gap="sm">
                <Text fw={600}>
                  {test.data.status === 'succeeded' ? <Trans>Delivered.</Trans> : <Trans>Not delivered.</Trans>}
                </Text>
                {attempt !== undefined && <AttemptCard attempt={attempt} />}
              </Stack>
            )}
          </div>
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              <Trans>Close</Trans>
            </Button>
            <Button type="submit" loading={test.isPending} data-autofocus>
              <Trans>Send</Trans>
            </Button>
          </Group>
        </>
      }
    >
      <FormSelect
        field="type"
        label={t`Event type`}
        allowDeselect={false}
        searchable
        data={[
          { value: '', label: 'webhook.test' },
          ...named.map(({ type: value }) => ({ value, label: value })).filter(({ value }) => value !== 'webhook.test'),
        ]}
        value={type}
        onChange={(value) => setType(value ?? '')}
      />
      <Text size="sm" c="dimmed">
        <Trans>Signed like a real event and marked as a test. Sent once, no retries.</Trans>
      </Text>
    </Form>
  );
}
