/** Asks before closing a dialog that shows something only once. */
import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { Trans } from '@lingui/react/macro';

interface LeaveAlertProps {
  readonly title: string;
  /** What the user must do if they leave without saving it. */
  readonly lost: string;
  readonly onStay: () => void;
  readonly onLeave: () => void;
}

export function LeaveAlert({ title, lost, onStay, onLeave }: LeaveAlertProps) {
  return (
    <Alert color="red" variant="light" role="alert" title={title}>
      <Stack gap="sm">
        <Text size="sm">{lost}</Text>
        <Group>
          <Button size="xs" variant="default" onClick={onStay}>
            <Trans>Go back</Trans>
          </Button>
          <Button size="xs" color="red" onClick={onLeave}>
            <Trans>Close anyway</Trans>
          </Button>
        </Group>
      </Stack>
    </Alert>
  );
}
