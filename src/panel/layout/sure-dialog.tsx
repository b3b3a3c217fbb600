/** Confirmation dialog for destructive actions. */
import { Button, Group, Stack, Text } from '@mantine/core';
import { Trans } from '@lingui/react/macro';
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Failure } from '../words/failure.js';
import { Dialog } from './dialog.js';

interface SureDialogProps {
  readonly opened: boolean;
  readonly title: string;
  /** Label of the button that confirms. */
  readonly does: string;
  /** Red, unless the action can be fully undone. */
  readonly color?: 'river' | 'red';
  readonly onClose: () => void;
  /** Runs the action. The dialog closes when it succeeds. */
  readonly act: () => Promise<unknown>;
  /** Renders a failure; default: the usual error box. */
  readonly failure?: (error: unknown) => ReactNode;
  /** The consequences. */
  readonly children: ReactNode;
}

export function SureDialog({ opened, title, does, color = 'red', onClose, act, failure, children }: SureDialogProps) {
  const doing = useMutation({ mutationFn: act, onSuccess: onClose });
  const close = (): void => {
    doing.reset();
    onClose();
  };
  return (
    <Dialog opened={opened} title={title} onClose={close}>
      <Stack gap="lg">
        <Text component="div" className="name">
          {children}
        </Text>
        {doing.error !== null && (failure?.(doing.error) ?? <Failure error={doing.error} />)}
        <Group justify="flex-end">
          <Button variant="default" onClick={close} data-autofocus>
            <Trans>Cancel</Trans>
          </Button>
          <Button color={color} loading={doing.isPending} onClick={() => doing.mutate()}>
            {does}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
