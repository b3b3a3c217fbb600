/** A form in a dialog: its fields, why the last try failed, and the buttons that leave it and that send it. */
import { Button, Group } from '@mantine/core';
import { Trans } from '@lingui/react/macro';
import type { ReactNode } from 'react';
import { Form, type Checks } from './form.js';

interface DialogFormProps {
  /** What the button says that sends it. */
  readonly does: string;
  readonly color?: 'river' | 'red';
  /** What the button says that leaves it, where that is more than to cancel. */
  readonly keeps?: string | undefined;
  /** Why the last try failed; null: it has not. */
  readonly error: unknown;
  readonly checks?: Checks;
  readonly failure?: ReactNode;
  readonly isPending: boolean;
  /** False where there is nothing to send: nothing has changed yet. */
  readonly isReady?: boolean;
  readonly gap?: 'md' | 'lg';
  readonly onSubmit: () => void;
  readonly onChange?: () => void;
  readonly onCancel: () => void;
  /** The fields. */
  readonly children: ReactNode;
}

export function DialogForm(props: DialogFormProps) {
  const { does, color = 'river', keeps, error, checks, failure, isPending, isReady = true, gap = 'lg' } = props;
  return (
    <Form
      error={error}
      checks={checks}
      failure={failure}
      gap={gap}
      onSubmit={props.onSubmit}
      onChange={props.onChange}
      footer={
        <Group justify="flex-end">
          <Button variant="default" onClick={props.onCancel}>
            {keeps ?? <Trans>Cancel</Trans>}
          </Button>
          <Button type="submit" loading={isPending} disabled={!isReady} color={color}>
            {does}
          </Button>
        </Group>
      }
    >
      {props.children}
    </Form>
  );
}
