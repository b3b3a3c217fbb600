/** Form in a dialog, with buttons to cancel and submit. */
import { Button, Group } from '@mantine/core';
import { Trans } from '@lingui/react/macro';
import type { ReactNode } from 'react';
import { Form, type Checks } from './form.js';

interface DialogFormProps {
  /** Label of the submit button. */
  readonly submitLabel: string;
  readonly color?: 'river' | 'red';
  /** Label of the cancel button. Default: Cancel. */
  readonly cancelLabel?: string | undefined;
  /** Error of the last submit. Null without an error. */
  readonly error: unknown;
  /** Validation errors of the current values. The form shows them after the first submit. */
  readonly checks?: Checks;
  /** Replaces the error box. Undefined: the form shows the error box if there is an error. */
  readonly failure?: ReactNode;
  readonly isPending: boolean;
  /** False disables the submit button, for example if nothing changed. */
  readonly isReady?: boolean;
  readonly gap?: 'md' | 'lg';
  readonly onSubmit: () => void;
  readonly onChange?: () => void;
  readonly onCancel: () => void;
  /** The fields of the form. */
  readonly children: ReactNode;
}

export function DialogForm(props: DialogFormProps) {
  const {
    submitLabel,
    color = 'river',
    cancelLabel,
    error,
    checks,
    failure,
    isPending,
    isReady = true,
    gap = 'lg',
  } = props;
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
            {cancelLabel ?? <Trans>Cancel</Trans>}
          </Button>
          <Button type="submit" loading={isPending} disabled={!isReady} color={color}>
            {submitLabel}
          </Button>
        </Group>
      }
    >
      {props.children}
    </Form>
  );
}
