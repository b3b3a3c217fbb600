/**
 * Dialog that asks for confirmation before an action that can do harm. If the action fails, the dialog stays open and
 * shows the error.
 */
import { Button, Group, Stack, Text } from '@mantine/core';
import { Trans } from '@lingui/react/macro';
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Failure } from '../words/failure.js';
import { Dialog } from './dialog.js';

interface ConfirmDialogProps {
  readonly opened: boolean;
  readonly title: string;
  /** Label of the confirm button. */
  readonly confirmLabel: string;
  /** Color of the confirm button. Default: red. Use `river` for actions that can be fully undone. */
  readonly color?: 'river' | 'red';
  readonly onClose: () => void;
  /** Runs the action after the confirmation. The dialog closes if the action succeeds. */
  readonly onConfirm: () => Promise<unknown>;
  /** Renders the error if the action fails. Default: the error box `Failure`. */
  readonly failure?: (error: unknown) => ReactNode;
  /** Describes the consequences of the action. */
  readonly children: ReactNode;
}

export function ConfirmDialog({
  opened,
  title,
  confirmLabel,
  color = 'red',
  onClose,
  onConfirm,
  failure,
  children,
}: ConfirmDialogProps) {
  const action = useMutation({ mutationFn: onConfirm, onSuccess: onClose });
  const close = (): void => {
    action.reset();
    onClose();
  };
  return (
    <Dialog opened={opened} title={title} onClose={close}>
      <Stack gap="lg">
        <Text component="div" className="name">
          {children}
        </Text>
        {action.error !== null && (failure?.(action.error) ?? <Failure error={action.error} />)}
        <Group justify="flex-end">
          <Button variant="default" onClick={close} data-autofocus>
            <Trans>Cancel</Trans>
          </Button>
          <Button color={color} loading={action.isPending} onClick={() => action.mutate()}>
            {confirmLabel}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
