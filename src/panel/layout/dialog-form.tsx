/** A form in a dialog: its fields, why the last try failed, and the buttons that leave it and that send it. */
import { Button, Group, Stack } from '@mantine/core';
import { Trans } from '@lingui/react/macro';
import type { ReactNode } from 'react';
import { Failure } from '../words/failure.js';

interface DialogFormProps {
  /** What the button says that sends it. */
  readonly does: string;
  readonly color?: 'river' | 'red';
  /** Why the last try failed; null: it has not. */
  readonly error: unknown;
  readonly isPending: boolean;
  /** Whether it can be sent as it is filled in. */
  readonly isWhole?: boolean;
  readonly gap?: 'md' | 'lg';
  readonly onSubmit: () => void;
  readonly onCancel: () => void;
  /** The fields. */
  readonly children: ReactNode;
}

export function DialogForm(props: DialogFormProps) {
  const { does, color = 'river', error, isPending, isWhole = true, gap = 'lg', onSubmit, onCancel, children } = props;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      <Stack gap={gap}>
        {children}
        {error !== null && <Failure error={error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onCancel}>
            <Trans>Cancel</Trans>
          </Button>
          <Button type="submit" loading={isPending} disabled={!isWhole} color={color}>
            {does}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
